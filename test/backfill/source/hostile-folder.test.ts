import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FolderSource } from '../../../src/backfill/source/folder-source.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { ENTRIES } from '../../storage/local/entries.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const BLOB = sampleBlob('wanted', 500);
const HERE = process.cwd();

describe.each(Object.entries(ENTRIES))('%s in a folder that is a source', (kind, make) => {
  test('hangs nothing; it is named, or gives what no hash agrees with', async () => {
    onTestFinished(() => process.chdir(HERE));
    const folder = temporaryFolder();
    await make(join(folder, BLOB.versionHash));
    const source = await FolderSource.open(folder);
    onTestFinished(() => source.close());
    const asked = Array.from({ length: 8 }, () => source.find(nameOf(BLOB), NEVER));
    for (const answer of await Promise.allSettled(asked)) {
      if (answer.status === 'rejected') {
        expect(answer.reason).toMatchObject({
          code: 'source/unreadable',
          message: expect.stringContaining(BLOB.versionHash),
        });
      } else expect(answer.value.kind).toBe('bytes');
    }
  });

  test('a folder under the name of the file of small blobs', async () => {
    if (kind === 'a foreign owner’s file' && process.getuid?.() !== 0) return;
    onTestFinished(() => process.chdir(HERE));
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'blobs'));
    await make(join(folder, 'blobs', 'small.sqlite'));
    await expect(FolderSource.open(folder)).rejects.toMatchObject({
      code: 'source/unreadable',
      message: expect.stringContaining('small.sqlite'),
    });
  });
});

const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)';
const HASH = `x'${BLOB.versionHash}'`;

test.each([
  [
    'a view that recurses',
    `CREATE VIEW blob AS ${ENDLESS} SELECT x AS bytes, x || 'a' AS version_hash, x % 7 AS hash_type FROM c`,
  ],
  [
    'a view that inflates',
    `CREATE VIEW blob AS SELECT zeroblob(400000000) AS bytes, ${HASH} AS version_hash, 1 AS hash_type`,
  ],
  [
    'a column that is computed',
    `CREATE TABLE blob (version_hash BLOB, hash_type INTEGER, bytes AS (zeroblob(400000000)), UNIQUE (version_hash, hash_type)); INSERT INTO blob VALUES (${HASH}, 1)`,
  ],
  ['a table without an index', 'CREATE TABLE blob (version_hash BLOB, hash_type INTEGER, bytes BLOB)'],
  ['no table', 'CREATE TABLE other (x)'],
])('%s under the name of the table of small blobs is refused when the folder is opened', async (_, sql) => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'blobs'));
  const database = new Database(join(folder, 'blobs', 'small.sqlite'));
  database.exec(sql);
  database.close();
  await expect(FolderSource.open(folder)).rejects.toMatchObject({
    code: 'source/unreadable',
    message: expect.stringContaining('small.sqlite'),
  });
});

test('a row that is longer than any blob is not read', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'blobs'));
  const database = new Database(join(folder, 'blobs', 'small.sqlite'));
  database.exec(
    'CREATE TABLE blob (version_hash BLOB, hash_type INTEGER, bytes BLOB, UNIQUE (version_hash, hash_type))',
  );
  database.exec(`INSERT INTO blob VALUES (${HASH}, 1, zeroblob(30000000))`);
  database.close();
  const source = await FolderSource.open(folder);
  onTestFinished(() => source.close());
  expect(await source.find(nameOf(BLOB), NEVER)).toEqual({ kind: 'absent' });
});
