import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

/** The API reference of the public entry points. TypeDoc reads every declaration: ten seconds, and minutes on a starved machine. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the API reference builds without a warning and has a page for each entry point', () => {
  const folder = temporaryFolder();
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'config', 'build-reference.ts'), folder], {
    encoding: 'utf8',
  });
  expect(`${stdout}${stderr}`).not.toContain('[warning]');
  expect(status).toBe(0);
  for (const page of ['client', 'verify', 'devnode']) {
    expect(existsSync(join(folder, 'modules', `${page}.html`))).toBe(true);
  }
}, 900_000);
