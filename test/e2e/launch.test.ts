import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { eventually } from './eventually.ts';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
/** In place of the program: says what it was given, and how it ended. */
const PROGRAM = `
process.on('SIGTERM', () => process.exit(143));
process.stdout.write(JSON.stringify({ words: process.argv.slice(2), flags: process.execArgv }) + '\\n');
if (process.argv.includes('wait')) setInterval(() => {}, 1000);
else if (process.argv.includes('die')) process.kill(process.pid, 'SIGKILL');
else process.exitCode = Number(process.argv.at(-1) ?? 0) || 0;
`;

/** A fresh clone with the real launcher in it, and everything that it would start or install replaced. */
function clone({ isInstalled }: { readonly isInstalled: boolean }): string {
  const root = temporaryFolder();
  for (const folder of ['src/cli', 'node_modules/node/bin']) mkdirSync(join(root, folder), { recursive: true });
  for (const file of ['launch.mjs', 'node-flags.mjs']) copyFileSync(join(SOURCE, file), join(root, 'src', file));
  writeFileSync(join(root, 'src', 'cli', 'main.ts'), PROGRAM);
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(root, 'package-lock.json'), '{}');
  if (isInstalled) writeFileSync(join(root, 'node_modules', '.package-lock.json'), '{}');
  return root;
}

interface Launched {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** `npmScript`: what runs in place of npm. */
function launch(root: string, words: readonly string[], npmScript = ''): Launched {
  const npm = join(root, 'npm.js');
  writeFileSync(npm, npmScript);
  const child = spawn(process.execPath, [join(root, 'src', 'launch.mjs'), ...words], {
    cwd: root,
    env: { ...process.env, npm_execpath: npm },
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

test('a fresh clone is installed once, with npm ci, and then started', async () => {
  const root = clone({ isInstalled: false });
  const npm = `
    const { appendFileSync, writeFileSync } = require('node:fs');
    appendFileSync('npm-calls', process.argv.slice(2).join(' ') + '\\n');
    writeFileSync('node_modules/.package-lock.json', '{}');`;
  writeFileSync(join(root, 'package.json'), '{}');
  const first = await launch(root, ['0'], npm).ended;
  expect(first).toMatchObject({ code: 0, stderr: 'holdfast: installing what is needed (once) …\n' });
  expect(await launch(root, ['0'], npm).ended).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(root, 'npm-calls'), 'utf8')).toMatch(/^ci .*\n$/);
});

test('a lockfile that is newer than what is installed is installed again', async () => {
  const root = clone({ isInstalled: true });
  utimesSync(join(root, 'node_modules', '.package-lock.json'), 1_000, 1_000);
  const { stderr } = await launch(root, ['0']).ended;
  expect(stderr).toContain('installing what is needed');
});

test('an install that fails ends it, with a sentence', async () => {
  const { code, stdout, stderr } = await launch(clone({ isInstalled: false }), ['run'], 'process.exit(7)').ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('holdfast: npm ci failed');
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

test('an unknown script is refused', async () => {
  const { code, stderr } = await launch(clone({ isInstalled: true }), ['--script', 'nothing']).ended;
  expect(code).toBe(1);
  expect(stderr).toContain('there is no script nothing');
});
