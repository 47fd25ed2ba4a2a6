import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openDurableDatabase } from '../../../src/core/sqlite/durable-database.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchiveHere, startNode, stop, untilStored } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';

const BEFORE = readFileSync(fileURLToPath(new URL('../../vectors/catalog/before-0.1.0.sql', import.meta.url)), 'utf8');

/** Puts a catalog from before the first release in the place of the folder's own. */
function putOldCatalog(dataDir: string): void {
  execFileSync('sh', ['-c', 'rm -f catalog.sqlite*'], { cwd: dataDir });
  const database = openDurableDatabase(join(dataDir, 'catalog.sqlite'));
  database.exec(BEFORE);
  database.close();
}

test('a catalog from before the first release is refused with two commands, which make it again without the node', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const first = await startArchiveHere({ dataDir, node });
  await untilStored(first, 22);
  expect(await stop(first)).toMatchObject({ code: 143 });
  putOldCatalog(dataDir);

  const env = environmentOf({ dataDir, node });
  for (const verb of ['run', 'check', 'rebuild']) {
    const refused = await holdfastHere([verb], { env });
    expect([verb, refused.code]).toEqual([verb, 2]);
    expect(refused.stderr).toContain('from before the first release');
  }
  const { stderr } = await holdfastHere(['run'], { env });
  // An operator would copy these from the terminal.
  const [move = '', rebuild = ''] = (/Type: (.*)$/m.exec(stderr)?.[1] ?? '').split(' && holdfast ');
  execFileSync('sh', ['-c', move]);
  expect(await holdfastHere(rebuild.split(' '), { env })).toMatchObject({ code: 0 });

  const second = await startArchiveHere({ dataDir, node });
  await untilStored(second, 22);
});

test.each([
  [
    'an unknown variable',
    { HOLDFAST_NODE_URI: 'http://x' },
    /HOLDFAST_NODE_URI is not known .*did you mean HOLDFAST_NODE_URL/,
  ],
  [
    'a secret file that is not there',
    { HOLDFAST_HEARTBEAT_URL_FILE: '/nowhere/secret' },
    /HOLDFAST_HEARTBEAT_URL_FILE cannot be read/,
  ],
  [
    'a schedule that is none',
    { HOLDFAST_CANARY_SCHEDULE: '61 * * * *' },
    /HOLDFAST_CANARY_SCHEDULE is no time that comes/,
  ],
  ['an address that is none', { HOLDFAST_HEARTBEAT_URL: 'ping me' }, /HOLDFAST_HEARTBEAT_URL must be an http/],
])('%s: exit code 2, and a sentence', async (_name, env, sentence) => {
  const node = await startNode();
  const ended = await holdfastHere(['run'], { env: environmentOf({ dataDir: temporaryFolder(), node, env }) });
  expect(ended).toMatchObject({ code: 2, stdout: expect.not.stringContaining('listening') });
  expect(ended.stderr).toMatch(sentence);
});
