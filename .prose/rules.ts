import type { TextlintRuleModule } from '@textlint/types';
import type { ProseKind, ProseNode } from './prose-plugin.ts';

/** One row of coinages.yaml. */
export interface Coinage {
  readonly prose?: string | undefined;
  readonly name?: string | undefined;
  readonly say: string;
}

interface Finding {
  readonly index: number;
  readonly text: string;
  readonly message: string;
}

/** The longest sentence that plain words allow. */
const MAX_WORDS = 25;
const NO_SUBJECT =
  /^(?:of|what|whatever|who|whom|whose|so|that|those|these|it|its|they|their|as|how|why|where|which|by|and|but|or|not|asked|told|rather)\b/i;
const QUESTION = /^(?:is|are|was|were|does|do|did|has|have|had|may|can|could|must|should|will|would)\b[^.?]*\?/i;
const SENTENCE = /[^.!?;:]+(?:[.!?;:](?!\s|$)[^.!?;:]*)*/g;

const COMMENTS: readonly ProseKind[] = ['DocComment', 'LineComment'];
const PROSE: readonly ProseKind[] = [...COMMENTS, 'TestTitle', 'Message'];

/** A rule over the nodes of some types. `find` gets their text with markup replaced by spaces. */
function rule(types: readonly string[], find: (text: string, type: string) => readonly Finding[]): TextlintRuleModule {
  return ({ RuleError, locator, report }) => {
    const check = (node: ProseNode): void => {
      for (const { index, text, message } of find(node.value ?? node.raw, node.type)) {
        // biome-ignore lint/suspicious/noExplicitAny: textlint's types know the nodes of Markdown alone.
        report(node as any, new RuleError(message, { padding: locator.range([index, index + text.length]) }));
      }
    };
    return Object.fromEntries(types.map((type) => [type, check]));
  };
}

export function coinageRule(coinages: readonly Coinage[]): TextlintRuleModule {
  const prose = coinages.flatMap(({ prose: words, say }) =>
    words === undefined ? [] : [{ pattern: new RegExp(`\\b(?:${words.replaceAll(' ', '\\s+')})\\b`, 'gi'), say }],
  );
  const names = coinages.flatMap(({ name, say }) =>
    name === undefined ? [] : [{ pattern: new RegExp(name, 'g'), say }],
  );
  return rule([...PROSE, 'Name', 'Str'], (text, type) =>
    (type === 'Name' ? names : prose).flatMap(({ pattern, say }) =>
      [...text.matchAll(pattern)].map((found) => ({
        index: found.index,
        text: found[0],
        message: `"${found[0].replaceAll(/\s+/g, ' ')}" is a coinage; say: ${say}`,
      })),
    ),
  );
}

/** A rule that a text must not open with a match of `pattern`. */
function openingRule(pattern: RegExp, message: (opening: string) => string): TextlintRuleModule {
  return rule([...COMMENTS, 'TestTitle'], (text) => {
    const index = text.search(/\S/);
    const found = index < 0 ? null : pattern.exec(text.slice(index));
    return found === null ? [] : [{ index, text: found[0], message: message(found[0]) }];
  });
}

export const noSubjectRule = openingRule(
  NO_SUBJECT,
  (opening) => `"${opening}" opens without a subject; begin with the thing or with its verb`,
);

export const questionRule = openingRule(QUESTION, () => 'a question; state what is true ("Reports whether …")');

export const sentenceLengthRule = rule([...COMMENTS, 'Paragraph'], (text) =>
  [...text.matchAll(SENTENCE)].flatMap(({ 0: sentence, index }) => {
    const words = sentence.match(/[\p{L}\p{N}][^\s]*/gu)?.length ?? 0;
    return words <= MAX_WORDS
      ? []
      : [
          {
            index: index + sentence.search(/\S/),
            text: sentence.trim(),
            message: `${words} words in a sentence; at most ${MAX_WORDS}`,
          },
        ];
  }),
);
