import { parse as parseMarkdown } from '@textlint/markdown-to-ast';
import type { TextlintPluginCreator, TextlintPluginProcessor } from '@textlint/types';
import { parseSync } from 'rolldown/utils';

type TxtDocumentNode = ReturnType<ReturnType<TextlintPluginProcessor['processor']>['preProcess']>;

/** A piece of a source file that a person reads. */
export type ProseKind = 'DocComment' | 'LineComment' | 'TestTitle' | 'Message' | 'Name';

export interface ProseNode {
  readonly type: ProseKind;
  readonly raw: string;
  /** The text with stars, slashes, tags and code replaced by as many spaces: offsets are those of `raw`. */
  readonly value: string;
  readonly range: readonly [number, number];
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Piece {
  readonly kind: ProseKind;
  readonly start: number;
  readonly end: number;
}

const TEST_FUNCTION = /^(test|it|describe\w*)$/;
/** Declarations that have their name in `id`, and those that have it in `key`. */
const NAMED_BY_ID =
  /^(Function(Declaration|Expression)|Class(Declaration|Expression)|TS(TypeAlias|Interface|Enum)Declaration|VariableDeclarator)$/;
const NAMED_BY_KEY =
  /^(PropertyDefinition|MethodDefinition|TSPropertySignature|TSMethodSignature|TSAbstractMethodDefinition)$/;
/** Fewer words are a key, a code or a path. */
const MESSAGE = /\S+\s+\S+\s+\S+/;

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && 'start' in value;

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');

/** Replaces everything that is not prose by spaces. */
function proseOf(raw: string, kind: ProseKind): string {
  if (kind === 'Name') return raw;
  if (kind === 'Message' || kind === 'TestTitle') return raw.replaceAll(/^['"`]|['"`]$|\$\{[^}]*\}|\\n/g, blank);
  return raw
    .replaceAll(/^\/\*\*?|\*\/$|^[ \t]*(?:\/\/+|\*(?!\/))/gm, blank)
    .replaceAll(/^[ \t]*@example[\s\S]*/gm, blank)
    .replaceAll(/^([ \t]*)@\w+(?:[ \t]+\{[^}]*\})?/gm, blank)
    .replaceAll(/(?<=[ \t])\|(?=\s|$)/gm, '.')
    .replaceAll(/`[^`]*`/g, (code) => `${'x'.repeat(code.length)}`)
    .replaceAll(/\{@link\s+([^}]*)\}/g, blank);
}

function titleOf(call: SyntaxNode): SyntaxNode | null {
  let callee: unknown = call['callee'];
  while (isNode(callee) && callee.type !== 'Identifier') callee = callee['callee'] ?? callee['object'] ?? callee['tag'];
  if (!isNode(callee) || !TEST_FUNCTION.test(String(callee['name']))) return null;
  const [title] = Array.isArray(call['arguments']) ? call['arguments'] : [];
  return isNode(title) && (typeof title['value'] === 'string' || title.type === 'TemplateLiteral') ? title : null;
}

function namesOf(node: SyntaxNode): SyntaxNode[] {
  const named = NAMED_BY_ID.test(node.type) ? [node['id']] : NAMED_BY_KEY.test(node.type) ? [node['key']] : [];
  const parameters = Array.isArray(node['params']) ? node['params'] : [];
  return [...named, ...parameters]
    .filter(isNode)
    .filter(({ type }) => type === 'Identifier' || type === 'PrivateIdentifier');
}

function isMessage(node: SyntaxNode): boolean {
  if (node.type === 'Literal') return typeof node['value'] === 'string' && MESSAGE.test(node['value']);
  if (node.type !== 'TemplateLiteral' || !Array.isArray(node['quasis'])) return false;
  return MESSAGE.test(node['quasis'].map((part: { value: { raw: string } }) => part.value.raw).join('x'));
}

function piecesOf(root: SyntaxNode, path: string): Piece[] {
  // Strings of a test are data.
  const withMessages = !/(^|\/)test\//.test(path);
  const pieces: Piece[] = [];
  const visit = (node: SyntaxNode): void => {
    const title = node.type === 'CallExpression' ? titleOf(node) : null;
    if (title !== null) pieces.push({ kind: 'TestTitle', start: title.start, end: title.end });
    for (const { type, start, name } of namesOf(node)) {
      const from = type === 'PrivateIdentifier' ? start + 1 : start;
      pieces.push({ kind: 'Name', start: from, end: from + String(name).length });
    }
    if (withMessages && isMessage(node)) pieces.push({ kind: 'Message', start: node.start, end: node.end });
    for (const child of Object.values(node)) {
      if (isNode(child)) visit(child);
      else if (Array.isArray(child)) for (const one of child) if (isNode(one)) visit(one);
    }
  };
  visit(root);
  return pieces;
}

/** Line comments on consecutive lines are one text. */
function commentsOf(text: string, comments: readonly { type: string; start: number; end: number }[]): Piece[] {
  const pieces: Piece[] = [];
  for (const { type, start, end } of comments) {
    const last = pieces.at(-1);
    const kind = type === 'Block' && text.startsWith('/**', start) ? 'DocComment' : 'LineComment';
    if (kind === 'LineComment' && last?.kind === kind && /^\n[ \t]*$/.test(text.slice(last.end, start))) {
      pieces[pieces.length - 1] = { ...last, end };
    } else if (!/^\/\/\/? ?(<reference|#|biome-ignore|@ts-)/.test(text.slice(start, end))) {
      pieces.push({ kind, start, end });
    }
  }
  return pieces;
}

class ProseProcessor implements TextlintPluginProcessor {
  availableExtensions(): string[] {
    return ['.md', '.mjs', '.ts'];
  }

  processor(): ReturnType<TextlintPluginProcessor['processor']> {
    return {
      preProcess: (text, path = 'source.ts') =>
        path.endsWith('.md') ? parseMarkdown(text) : sourceDocument(text, path),
      postProcess: (messages, path = 'source.ts') => ({ messages, filePath: path }),
    };
  }
}

/** A textlint plugin. It reads source as a document of comments, test titles, messages and declared names. */
export const prosePlugin: TextlintPluginCreator = { Processor: ProseProcessor };

function sourceDocument(text: string, path: string): TxtDocumentNode {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0 || !isNode(program)) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const position = (at: number) => {
    const line = lineStarts.findLastIndex((start) => start <= at);
    return { line: line + 1, column: at - (lineStarts[line] ?? 0) };
  };
  const place = (start: number, end: number) => ({
    range: [start, end] as const,
    loc: { start: position(start), end: position(end) },
    raw: text.slice(start, end),
  });
  const pieces = [...commentsOf(text, comments), ...piecesOf(program, path)];
  const children = pieces.map(({ kind, start, end }) => ({
    type: kind,
    value: proseOf(text.slice(start, end), kind),
    ...place(start, end),
  }));
  // textlint's own types know the nodes of Markdown alone; rules may name any other.
  return { type: 'Document', ...place(0, text.length), children: children as never };
}
