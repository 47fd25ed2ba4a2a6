import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDurableDatabase } from '../../../src/sqlite/durable-database.ts';
import { migrate, readMigrations } from '../../../src/sqlite/migrate.ts';
import { MIGRATIONS } from '../../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startArchive, startNode, stop, untilStored } from '../archive-process.ts';
import { holdfast } from '../holdfast-process.ts';

const OLDEST = 6;

/** A catalog as the sixth version of the schema left it, before the archive on this folder begins. */
function writeOldCatalog(dataDir: string): void {
  const folder = temporaryFolder();
  for (const name of readdirSync(MIGRATIONS).filter((one) => Number(one.slice(0, 4)) <= OLDEST)) {
    copyFileSync(join(MIGRATIONS, name), join(folder, name));
  }
  mkdirSync(dataDir, { recursive: true });
  const database = openDurableDatabase(join(dataDir, 'catalog.sqlite'));
  migrate(database, readMigrations(folder));
  database.close();
}

test('an old catalog is brought up, and kept as it was beside it; with the copy in its place the way goes on', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  writeOldCatalog(dataDir);
  const first = await startArchive({ dataDir, node });
  await untilStored(first, 22);
  expect(await stop(first)).toMatchObject({ code: 143 });
  const copy = join(dataDir, `catalog.sqlite.before-000${OLDEST + 1}`);
  expect(existsSync(copy)).toBe(true);

  // Back to before: what was archived meanwhile lies in the folder, and is found again.
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `catalog.sqlite${suffix}`), { force: true });
  copyFileSync(copy, join(dataDir, 'catalog.sqlite'));
  const second = await startArchive({ dataDir, node });
  await untilStored(second, 22, 40_000);
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
  const ended = await holdfast(['run'], { env: environmentOf({ dataDir: temporaryFolder(), node, env }) });
  expect(ended).toMatchObject({ code: 2, stdout: expect.not.stringContaining('listening') });
  expect(ended.stderr).toMatch(sentence);
});
