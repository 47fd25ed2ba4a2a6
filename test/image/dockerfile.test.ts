import { readFileSync } from 'node:fs';
import { DockerfileParser, type From, type Instruction } from 'dockerfile-ast';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { NODE_FLAGS } from '../../src/node-flags.mjs';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const manifest = z
  .object({
    version: z.string(),
    description: z.string(),
    license: z.string(),
    devDependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(read('package.json')));

const source = read('Dockerfile');
const dockerfile = DockerfileParser.parse(source);
const instructions = dockerfile.getInstructions();
const stages: readonly From[] = dockerfile.getFROMs();
const last = stages.at(-1)?.getRange().start.line ?? 0;
/** Everything after the keyword, flags included. */
const words = (instruction: Instruction) => {
  const range = instruction.getRange();
  const lines = source.split('\n').slice(range?.start.line, (range?.end.line ?? 0) + 1);
  return lines.join('\n').slice(instruction.getKeyword().length).trim();
};
const all = (keyword: string) => instructions.filter((one) => one.getKeyword() === keyword);
const ofFinalStage = (keyword: string) =>
  all(keyword)
    .filter((one) => (one.getRange()?.start.line ?? 0) > last)
    .map(words);
const fallbackOf = (argument: string) =>
  all('ARG')
    .map(words)
    .find((text) => text.startsWith(`${argument}=`))
    ?.slice(argument.length + 1);
const list = (text: string | undefined) => z.array(z.string()).parse(JSON.parse(text ?? ''));
const environment = Object.fromEntries(
  dockerfile
    .getENVs()
    .flatMap((one) => one.getProperties().map((property) => [property.getName(), property.getValue()])),
);

test('every stage begins with one image, named by the full version of the pinned Node', () => {
  expect(fallbackOf('NODE_IMAGE')).toBe(`node:${manifest.devDependencies['node']}-bookworm-slim`);
  expect(stages.map((stage) => stage.getImage()).filter((image) => image !== `\${NODE_IMAGE}`)).toEqual([]);
});

test('the image runs as a user by number, who is not root, and writes the data folder alone', () => {
  expect(ofFinalStage('USER')).toEqual(['10001:10001']);
  expect(ofFinalStage('VOLUME')).toEqual(['["/data"]']);
  expect(environment).toMatchObject({ HOLDFAST_DATA_DIR: '/data', SQLITE_TMPDIR: '/data' });
});

test('the process itself gets the signals: entry point and command are lists', () => {
  expect(ofFinalStage('ENTRYPOINT').map(list)).toEqual([['holdfast']]);
  expect(ofFinalStage('CMD').map(list)).toEqual([['run']]);
  expect(ofFinalStage('STOPSIGNAL')).toEqual(['SIGTERM']);
});

test('the image asks for its own health', () => {
  const [check = ''] = ofFinalStage('HEALTHCHECK');
  expect(list(check.slice(check.indexOf('[')))).toEqual(['node', '/app/dist/cli/health.js']);
});

test('the heap is bounded as the launcher bounds it', () => {
  expect(environment['NODE_OPTIONS']).toBe(NODE_FLAGS.join(' '));
});

test('no development dependency comes along, and no package runs a script', () => {
  const installs = all('RUN').flatMap((one) => words(one).match(/npm (?:ci|install)[^&]*/g) ?? []);
  expect(installs).toHaveLength(2);
  expect(installs.filter((install) => !install.includes('--ignore-scripts'))).toEqual([]);
  expect(installs[1]).toContain('--omit=dev');
  expect(ofFinalStage('COPY')).toEqual([
    '--from=dependencies /holdfast/node_modules node_modules',
    '--from=dependencies /holdfast/sbom.cdx.json .',
    '--from=package /package .',
    '--from=allocator /allocator /usr/local/lib/',
  ]);
});

test('the labels say what the package says, and nothing of the machine or the moment', () => {
  const [labels = ''] = ofFinalStage('LABEL');
  expect(fallbackOf('VERSION')).toBe(manifest.version);
  expect(labels).toContain(`description="${manifest.description}"`);
  expect(labels).toContain(`licenses="${manifest.license}"`);
  for (const name of ['version', 'revision', 'created']) {
    expect(labels).toContain(`org.opencontainers.image.${name}="\${${name.toUpperCase()}}"`);
  }
});

test('only what it is made of goes to the engine', () => {
  const [first, ...kept] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(first).toBe('*');
  expect(kept.filter((line) => !line.startsWith('!'))).toEqual([]);
  const copied = all('COPY')
    .map(words)
    .filter((text) => !text.startsWith('--from'))
    .flatMap((text) => text.split(' ').slice(0, -1));
  const ignored = copied.filter(
    (path) =>
      !kept.some((line) => line === `!${path}` || line.startsWith(`!${path}/`) || `!${path}`.startsWith(`${line}/`)),
  );
  expect(ignored).toEqual([]);
});
