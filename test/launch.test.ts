import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** The launcher in a clone of its own, with an npm and a command that only say that they ran. */

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));
let clone: string;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'holdfast-launch-'));
  await mkdir(join(clone, 'src/cli'), { recursive: true });
  for (const file of ['launch.mjs', 'node-flags.mjs']) await cp(join(SOURCE, file), join(clone, 'src', file));
  await writeFile(join(clone, 'package.json'), '{"type":"module"}');
  await writeFile(join(clone, 'package-lock.json'), '{}');
  await writeFile(
    join(clone, 'src/cli/main.ts'),
    'const words: string[] = process.argv.slice(2);\nconsole.log(words.join(" "));\nprocess.exitCode = 3;\n',
  );
  await writeFile(
    join(clone, 'npm.js'),
    `import { mkdirSync, writeFileSync } from 'node:fs';
     console.log('npm', process.argv.slice(2).join(' '));
     mkdirSync('node_modules', { recursive: true });
     writeFileSync('node_modules/.package-lock.json', '{}');
     process.exitCode = Number(process.env['NPM_FAILS'] ?? 0);`,
  );
});

afterEach(() => rm(clone, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const options = { env: { ...process.env, npm_execpath: join(clone, 'npm.js'), ...env } };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(clone, 'src/launch.mjs'), ...words],
      options,
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

test('installs once, then runs the command and passes its exit code on', async () => {
  const first = await launch(['status', '--json']);
  expect(first.stderr).toMatch(/installing what is needed \(once\).*npm ci/s);
  expect(first).toMatchObject({ code: 3, stdout: 'status --json\n' });
  const second = await launch(['get', 'x']);
  expect(second).toEqual({ code: 3, stdout: 'get x\n', stderr: '' });
});

test('installs again when the lockfile is newer than what is installed', async () => {
  await launch(['status']);
  const later = new Date(Date.now() + 60_000);
  await utimes(join(clone, 'package-lock.json'), later, later);
  expect((await launch(['status'])).stderr).toContain('npm ci');
});

test('says so when the installation fails, and runs nothing', async () => {
  const ended = await launch(['status'], { NPM_FAILS: '1' });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('npm ci failed');
});

test('where the pinned Node cannot run, the system’s serves', async () => {
  await launch(['status']);
  const pinned = join(clone, 'node_modules/node/bin/node');
  await mkdir(join(clone, 'node_modules/node/bin'), { recursive: true });
  await writeFile(pinned, '#!/bin/sh\necho "libatomic.so.1: cannot open shared object file" >&2\nexit 127\n');
  await chmod(pinned, 0o755);
  expect(await launch(['status'])).toEqual({ code: 3, stdout: 'status\n', stderr: '' });
});
