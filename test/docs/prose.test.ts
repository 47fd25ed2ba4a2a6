import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { COINAGES, COVERED, checkText, coveredFiles } from '../../.prose/check-prose.ts';

/** The prose linter of `npm run check`: it covers what exists, and each of its rules finds what it is for. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('covered.yaml names existing rooms and files, each once', () => {
  expect(
    COVERED.rooms.filter((room) => !existsSync(`${ROOT}/src/${room}`) && !existsSync(`${ROOT}/test/${room}`)),
  ).toEqual([]);
  expect(COVERED.files.filter((path) => !existsSync(`${ROOT}/${path}`))).toEqual([]);
  expect(new Set(coveredFiles()).size).toBe(coveredFiles().length);
});

test('every coinage has a pattern, and no pattern matches the words that replace it', async () => {
  expect(COINAGES.filter(({ prose, name }) => prose === undefined && name === undefined)).toEqual([]);
  const said = COINAGES.map(({ say }) => `Say ${say.replaceAll(/[".]/g, '')}.`).join('\n\n');
  expect(await checkText(said, 'said.md')).toEqual([]);
});

const LONG = 'The archive keeps the blob '.repeat(6).trim();

test.each([
  ['a coinage in a comment', '/** The answer of whoever asks. */\nexport {};', 'coinage', 1, 19],
  ['a coinage over two lines', '/**\n * The cache lets\n * go of the blob.\n */\nexport {};', 'coinage', 2, 14],
  ['a coinage in a message', 'export const hint = `The node is down, mend the node`;', 'coinage', 1, 40],
  ['a coinage in a declared name', 'export const MOST_BYTES = 1;', 'coinage', 1, 14],
  ['a coinage in the name of a member', 'export interface A {\n  readonly mostBytes: number;\n}', 'coinage', 2, 12],
  ['a coinage in a private name', 'class A {\n  #mostBytes = 1;\n}', 'coinage', 2, 4],
  ['a coinage in a test title', "test('a node that nobody asked', () => {});", 'coinage', 1, 19],
  ['a doc comment without a subject', '/** Of the blob. */\nexport {};', 'opening', 1, 5],
  ['a comment on a member without a subject', 'interface A {\n  /** How long. */\n  a: 1;\n}', 'opening', 2, 7],
  ['a line comment without a subject', 'f();\n// So that it ends.\ng();', 'opening', 2, 4],
  ['a test title without a subject', "test.each(slowly)('what is lost stays lost', () => {});", 'opening', 1, 20],
  ['a title of a table of tests', "test.each([1, 2])('of %s blobs', () => {});", 'opening', 1, 20],
  ['a question', '/** Does the block exist? */\nexport {};', 'question', 1, 5],
  ['a long sentence in a comment', `/** ${LONG}. */\nexport {};`, 'sentence-length', 1, 5],
])('the linter finds %s', async (_, text, rule, line, column) => {
  const path = text.startsWith('test') ? 'test/a.test.ts' : 'src/a.ts';
  expect(await checkText(text, path)).toEqual([expect.objectContaining({ path, rule, line, column })]);
});

test.each([
  ['a coinage in a document', 'The store keeps the blobs of ours.', 'coinage'],
  ['a long sentence in a document', `${LONG}.`, 'sentence-length'],
])('the linter finds %s', async (_, text, rule) => {
  expect((await checkText(`# Title\n\n${text}\n`, 'a.md')).map((finding) => [finding.rule, finding.line])).toEqual([
    [rule, 3],
  ]);
});

test('the linter leaves code alone: names that are used, code in backticks, examples, short strings, data of tests', async () => {
  const source = `
/**
 * Bytes of \`whoever\` asks.
 *
 * @example
 * whoever(of(ours));
 */
export const bytes = mostBytes('whoever');
`;
  expect(await checkText(source, 'src/a.ts')).toEqual([]);
  expect(await checkText("export const data = 'nobody is the third';", 'test/a.ts')).toEqual([]);
});
