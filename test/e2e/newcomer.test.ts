import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ROOT, shellBlocks } from '../docs/markdown.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HoldfastHere, holdfastHere } from './holdfast-here.ts';

const README = { path: 'README.md', text: readFileSync(join(ROOT, 'README.md'), 'utf8') };
const [start = '', , secondTerminal = ''] = shellBlocks(README);
const COMMAND = 'npm run -s holdfast -- ';

/** The words behind `holdfast` in the line of the README that begins with this command, placeholders filled in. */
function wordsOf(command: string, versionHash = ''): string[] {
  const line = secondTerminal.split('\n').find((one) => one.startsWith(`${COMMAND}${command}`));
  if (line === undefined) throw new Error(`The README shows no ${command}.`);
  return line
    .slice(COMMAND.length)
    .replace(/<version hash[^>]*>/, versionHash)
    .split(' ');
}

test('the lines of the README bring a newcomer from the start to a blob of their own, submitted and got back', async () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  expect(start).toBe('npm start\n');
  const [program, launcher, ...words] = scripts['start']?.split(' ') ?? [];
  expect([program, launcher, scripts['holdfast']]).toEqual(['node', 'src/launch.mjs', 'node src/launch.mjs']);
  // The launcher has tests of its own. Another archive may have the port already.
  const cwd = temporaryFolder();
  copyFileSync(join(ROOT, 'LICENSE'), join(cwd, 'LICENSE'));
  const daemon = new HoldfastHere([...words, '--http-port', '0'], { cwd });
  const [, url = ''] = await daemon.says(/listens at (\S+)/);
  await daemon.says(/^archived {2}[0-9a-f]{64}/m);

  expect(await holdfastHere(wordsOf('status'), { cwd })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('chain    emulated'),
  });
  const submitted = await holdfastHere(wordsOf('submit'), { cwd });
  expect(submitted.code).toBe(0);
  const [versionHash = ''] = /[0-9a-f]{64}/.exec(submitted.stdout) ?? [];
  const licence = readFileSync(join(ROOT, 'LICENSE'));
  await daemon.says(new RegExp(`^archived {2}${versionHash}`, 'm'));
  expect(await holdfastHere(wordsOf('get', versionHash), { cwd })).toMatchObject({ code: 0 });
  expect(readFileSync(join(cwd, 'blob.bin')).equals(licence)).toBe(true);
  const curl = secondTerminal.split('\n').find((one) => one.startsWith('curl -O ')) ?? '';
  const path = curl.replace('curl -O http://127.0.0.1:8080', '').replace('<version hash>', versionHash);
  const answer = await fetch(`${url}${path}`);
  expect(answer.status).toBe(200);
  expect(Buffer.from(await answer.arrayBuffer()).equals(licence)).toBe(true);
});
