import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../temporary-folder.ts';
import { eventually } from './eventually.ts';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
/** In place of the program: says what it was given, and how it ended. */
const PROGRAM = `
process.on('SIGTERM', () => process.exit(143));
process.stdout.write(JSON.stringify({ words: process.argv.slice(2), flags: process.execArgv, arenas: process.env.MALLOC_ARENA_MAX }) + '\\n');
if (process.argv.includes('wait')) setInterval(() => {}, 1000);
else if (process.argv.includes('die')) process.kill(process.pid, 'SIGKILL');
else process.exitCode = Number(process.argv.at(-1) ?? 0) || 0;
`;

/** A dependency, two tools that `npm start` needs, one that it does not, and one for other machines. */
const LOCKED = {
  'node_modules/runs': { version: '1.0.0', integrity: 'sha512-runs' },
  'node_modules/node': { version: '26.0.0', integrity: 'sha512-node', dev: true, dependencies: { setup: '^1.0.0' } },
  'node_modules/setup': { version: '1.2.0', integrity: 'sha512-setup', dev: true },
  'node_modules/esbuild': { version: '0.1.0', dev: true, optionalDependencies: { '@esbuild/linux': '0.1.0' } },
  'node_modules/@esbuild/linux': { version: '0.1.0', dev: true, optional: true, os: ['linux'] },
  'node_modules/vitest': { version: '5.0.0', integrity: 'sha512-vitest', dev: true },
};
/** In place of npm: notes how it was called, and puts there what the lockfile of its folder lists. */
const NPM = `
const { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const words = process.argv.slice(2);
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const said = { words, stage: process.cwd().endsWith('.installing'), packages: Object.keys(packages).filter(Boolean) };
appendFileSync(join(__dirname, 'npm-calls'), JSON.stringify(said) + '\\n');
const chosen = Object.entries(packages).filter(([path, { dev }]) => path && !(dev && words.includes('--omit=dev')));
if (words[0] === 'ci') rmSync('node_modules', { recursive: true, force: true });
for (const [path, { version }] of chosen) {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'package.json'), JSON.stringify({ version }));
}
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(chosen) }));
`;

/** A fresh clone with the real launcher in it, and everything that it would start or install replaced. */
function clone({ isInstalled }: { readonly isInstalled: boolean }): string {
  const root = temporaryFolder();
  for (const folder of ['src/cli', 'node_modules/node/bin']) mkdirSync(join(root, folder), { recursive: true });
  for (const file of ['launch.mjs', 'install.mjs', 'node-flags.mjs']) {
    copyFileSync(join(SOURCE, file), join(root, 'src', file));
  }
  writeFileSync(join(root, 'src', 'cli', 'main.ts'), PROGRAM);
  writeFileSync(join(root, 'package.json'), '{}');
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: isInstalled ? {} : LOCKED }));
  if (isInstalled) writeFileSync(join(root, 'node_modules', '.package-lock.json'), '{}');
  return root;
}

const npmCall = z.object({ words: z.array(z.string()), stage: z.boolean(), packages: z.array(z.string()) });

/** The words that npm was asked with, without the words that are the same each time. */
function npmCalls(root: string): { asked: string; packages: readonly string[] }[] {
  const lines = readFileSync(join(root, 'npm-calls'), 'utf8').trim().split('\n');
  return lines
    .map((line) => npmCall.parse(JSON.parse(line)))
    .map(({ words, stage, packages }) => ({
      asked: [
        ...(stage ? ['apart:'] : []),
        ...words.filter((word) => !/^--(no-(audit|fund)|loglevel)/.test(word)),
      ].join(' '),
      packages,
    }))
    .sort((one, other) => one.asked.localeCompare(other.asked));
}

interface Launched {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** `npmScript`: what runs in place of npm. */
function launch(root: string, words: readonly string[], npmScript = '', env: NodeJS.ProcessEnv = {}): Launched {
  const npm = join(root, 'npm.js');
  writeFileSync(npm, npmScript);
  const child = spawn(process.execPath, [join(root, 'src', 'launch.mjs'), ...words], {
    cwd: root,
    env: { ...process.env, npm_execpath: npm, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)]);
  return { child, ended: ended.then(([exit, stdout, stderr]) => ({ code: exit, stdout, stderr })) };
}

test('an installed clone is started as it is: words and exit code pass through', async () => {
  const { code, stdout, stderr } = await launch(clone({ isInstalled: true }), ['run', '--dev', '3']).ended;
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ words: ['run', '--dev', '3'] });
});

test('the C library keeps two arenas of memory, or as many as the operator says', async () => {
  const arenasWith = async (env: NodeJS.ProcessEnv) =>
    JSON.parse((await launch(clone({ isInstalled: true }), ['0'], '', env).ended).stdout).arenas;
  expect(await arenasWith({ MALLOC_ARENA_MAX: '5' })).toBe('5');
  expect(await arenasWith({ MALLOC_ARENA_MAX: undefined })).toBe('2');
});

test('a fresh clone gets the dependencies, the pinned Node and the bundler, once, and is then started', async () => {
  const root = clone({ isInstalled: false });
  const first = await launch(root, ['0'], NPM).ended;
  expect(first).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^holdfast: installing what it takes to start/),
  });
  expect(await launch(root, ['0'], NPM).ended).toMatchObject({ code: 0, stderr: '' });
  const [apart, dependencies, ...others] = npmCalls(root);
  expect(others).toEqual([]);
  expect(apart).toEqual({
    asked: 'apart: ci',
    packages: ['node', 'esbuild', 'setup', '@esbuild/linux'].map((name) => `node_modules/${name}`),
  });
  expect(dependencies?.asked).toBe('ci --omit=dev');
  const there = ['runs', 'node', 'setup', 'esbuild', '@esbuild/linux', 'vitest'].filter((name) =>
    existsSync(join(root, 'node_modules', name, 'package.json')),
  );
  expect(there).toEqual(['runs', 'node', 'setup', 'esbuild', '@esbuild/linux']);
  expect(existsSync(join(root, '.installing'))).toBe(false);
});

test('a script adds the tools, and takes nothing away from what a running archive uses', async () => {
  const root = clone({ isInstalled: false });
  await launch(root, ['0'], NPM).ended;
  const { stderr } = await launch(root, ['--script', 'nothing'], NPM).ended;
  expect(stderr).toMatch(/^holdfast: installing everything/);
  expect(npmCalls(root).map(({ asked }) => asked)).toEqual(['apart: ci', 'ci --omit=dev', 'install --no-save']);
  expect((await launch(root, ['0'], NPM).ended).stderr).toBe('');
  expect(npmCalls(root)).toHaveLength(3);
});

test('a script on a fresh clone installs everything at once', async () => {
  const root = clone({ isInstalled: false });
  await launch(root, ['--script', 'nothing'], NPM).ended;
  expect(npmCalls(root).map(({ asked }) => asked)).toEqual(['ci']);
  expect((await launch(root, ['0'], NPM).ended).stderr).toBe('');
});

test.each([
  ['dependency', 'node_modules/runs', ['apart: ci', 'ci --omit=dev']],
  ['Node', 'node_modules/node', ['apart: ci']],
] as const)('a lockfile that pins another %s is installed again', async (_what, path, asked) => {
  const root = clone({ isInstalled: false });
  await launch(root, ['0'], NPM).ended;
  writeFileSync(join(root, 'npm-calls'), '');
  const packages = { ...LOCKED, [path]: { ...LOCKED[path], version: '99.0.0' } };
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
  expect((await launch(root, ['0'], NPM).ended).stderr).toContain('installing what it takes to start');
  expect(npmCalls(root).map((call) => call.asked)).toEqual(asked);
});

test.each([
  ['fails', 'process.exit(7)', /npm ci( --omit=dev)? failed: see the lines above/],
  ['installs something else', '', /npm did not install what package-lock\.json lists/],
])('an install that %s ends it, with a sentence', async (_how, npm, says) => {
  const { code, stdout, stderr } = await launch(clone({ isInstalled: false }), ['run'], npm).ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(says);
});

test('the pinned Node is taken where it runs, and the own one where it does not', async () => {
  const root = clone({ isInstalled: true });
  const pinned = join(root, 'node_modules', 'node', 'bin', 'node');
  writeFileSync(pinned, `#!/bin/sh\n[ "$1" = --version ] || echo pinned\n`);
  chmodSync(pinned, 0o755);
  expect((await launch(root, ['run']).ended).stdout).toBe('pinned\n');
  writeFileSync(pinned, '#!/bin/sh\nexit 127\n');
  expect((await launch(root, ['run']).ended).stdout).toContain('"words":["run"]');
});

test('a request to stop is passed on, and the exit code is that of the program', async () => {
  const { child, ended } = launch(clone({ isInstalled: true }), ['wait']);
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await eventually(() => expect(said).toContain('wait'));
  child.kill('SIGTERM');
  expect((await ended).code).toBe(143);
});

test('a program that was killed is told by the exit code that shells use', async () => {
  expect((await launch(clone({ isInstalled: true }), ['die']).ended).code).toBe(137);
});

const CHECKS = ['@biomejs/biome/bin/biome', 'typescript/bin/tsc'].map((name) => `node_modules/${name}`);
/** In place of the tests: they say when they begin and when they are stopped. */
const TESTS = `
process.on('SIGTERM', () => { console.log('tests: stopped'); process.exit(143); });
console.log('tests: ' + process.argv.slice(2).at(-1));
`;

/** An installed clone in which each of these scripts is in place of a tool. */
function cloneWithTools(scripts: Readonly<Record<string, string>>): string {
  const root = clone({ isInstalled: true });
  for (const [path, script] of Object.entries(scripts)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), script);
  }
  return root;
}

test('the tests run beside the checks, and their exit code is that of the script', async () => {
  const checks = Object.fromEntries([...CHECKS, '.prose/main.ts'].map((path) => [path, "console.log('checked');"]));
  const tests = `${TESTS} process.exitCode = 5;`;
  const root = cloneWithTools({ ...checks, 'node_modules/vitest/vitest.mjs': tests });
  const { code, stdout, stderr } = await launch(root, ['--script', 'test', 'one.test.ts']).ended;
  expect({ code, stdout, stderr }).toEqual({ code: 5, stdout: 'tests: one.test.ts\n', stderr: 'checked\n'.repeat(4) });
});

test('a check that fails stops the tests, and what it says comes last', async () => {
  const root = cloneWithTools({
    'node_modules/typescript/bin/tsc': '',
    '.prose/main.ts': '',
    // The check fails when the tests run: their file is there then.
    'node_modules/@biomejs/biome/bin/biome': `
      setInterval(() => {
        if (!require('node:fs').existsSync('begun')) return;
        console.error('a wrong line');
        process.exit(3);
      }, 10);`,
    'node_modules/vitest/vitest.mjs': `
      import { writeFileSync } from 'node:fs';
      ${TESTS}
      setInterval(() => {}, 1000);
      writeFileSync('begun', '');`,
  });
  const { code, stdout, stderr } = await launch(root, ['--script', 'test', 'one.test.ts']).ended;
  expect({ code, stdout, stderr }).toEqual({
    code: 3,
    stdout: 'tests: one.test.ts\ntests: stopped\n',
    stderr: 'a wrong line\n',
  });
});

test('an unknown script is refused', async () => {
  const { code, stderr } = await launch(clone({ isInstalled: true }), ['--script', 'nothing']).ended;
  expect(code).toBe(1);
  expect(stderr).toContain('there is no script nothing');
});
