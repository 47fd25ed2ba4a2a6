import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ContentName } from '../../../src/core/blob/ids.ts';
import { hashTypeCode } from '../../../src/core/sqlite/hash-type-code.ts';
import { LocalStore, ROW_LIMIT_BYTES } from '../../../src/storage/local/local-store.ts';
import { isCustom, listBlobs, type ObjectKey } from '../../../src/storage/object-store.ts';
import { eventually } from '../../e2e/eventually.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { pathOf as keyPath } from '../memory-store.ts';
import { describeObjectStore } from '../object-store-conformance.ts';

/** Changes bytes on the disk as a failing disk does: behind the store's back. */
function spoil(folder: string, { hashType, versionHash }: ContentName, bytes: Uint8Array): void {
  const database = new Database(join(folder, 'blobs', 'small.sqlite'));
  const changed = database
    .prepare('UPDATE blob SET bytes = ? WHERE version_hash = ? AND hash_type = ?')
    .run(Buffer.from(bytes), Buffer.from(versionHash, 'hex'), hashTypeCode(hashType)).changes;
  database.close();
  if (changed === 0) writeFileSync(pathOf(folder, { hashType, versionHash }), bytes);
}

function pathOf(folder: string, { hashType, versionHash }: ContentName): string {
  return join(folder, 'blobs', hashType, versionHash.slice(0, 2), versionHash);
}

async function open(folder: string): Promise<LocalStore> {
  const store = await LocalStore.open(folder);
  onTestFinished(() => store.close());
  return store;
}

describeObjectStore('the local store', ['blob', 'custom', 'record', 'evidence'], async () => {
  const folder = temporaryFolder();
  const store = await LocalStore.open(folder);
  const overwrite = async (key: ObjectKey, bytes: Uint8Array) => {
    if (typeof key === 'object' && !isCustom(key)) spoil(folder, key, bytes);
    else writeFileSync(join(folder, keyPath(key)), bytes);
  };
  return { store, overwrite };
});

test('large blobs are files named for their content, small ones are rows and no files', async () => {
  const folder = temporaryFolder();
  const store = await open(folder);
  const row = sampleBlob('row', ROW_LIMIT_BYTES);
  const file = sampleBlob('file', ROW_LIMIT_BYTES + 1, 'blake2s256');
  await store.put(row, 'replace', NEVER);
  await store.put(file, 'replace', NEVER);
  expect(readFileSync(pathOf(folder, file)).equals(file.bytes)).toBe(true);
  expect(readdirSync(join(folder, 'blobs')).sort()).toEqual([
    '.tmp',
    'blake2s256',
    'small.sqlite',
    'small.sqlite-shm',
    'small.sqlite-wal',
  ]);
  expect(readdirSync(join(folder, 'blobs', '.tmp'))).toEqual([]);
});

test('everything is there again after it was closed and opened', async () => {
  const folder = temporaryFolder();
  const blobs = [sampleBlob('again', 10), sampleBlob('again', 100_000)];
  const before = await LocalStore.open(folder);
  for (const blob of blobs) await before.put(blob, 'replace', NEVER);
  await before.close();
  const after = await open(folder);
  for (const blob of blobs) expect((await after.get(nameOf(blob), NEVER))?.length).toBe(blob.bytes.length);
});

test('a put that was under way when the store closed is durable, not lost', async () => {
  const folder = temporaryFolder();
  const store = await LocalStore.open(folder);
  const blob = sampleBlob('under way', 10);
  const putting = store.put(blob, 'replace', NEVER);
  await store.close();
  await putting;
  expect(await (await open(folder)).get(nameOf(blob), NEVER)).not.toBeNull();
});

test('a file that a crash left half-written is cleaned away at the next start, and is never listed', async () => {
  const folder = temporaryFolder();
  await (await LocalStore.open(folder)).close();
  writeFileSync(join(folder, 'blobs', '.tmp', 'half'), 'not a whole blob');
  const store = await open(folder);
  expect(readdirSync(join(folder, 'blobs', '.tmp'))).toEqual([]);
  for await (const entry of listBlobs(store, NEVER)) expect(entry).toBeUndefined();
});

test('files that no store put there are no blobs, and do not disturb the list', async () => {
  const folder = temporaryFolder();
  const store = await open(folder);
  const blob = sampleBlob('in company', 100_000);
  await store.put(blob, 'replace', NEVER);
  writeFileSync(join(folder, 'blobs', 'keccak256', '.DS_Store'), 'somebody looked at the folder');
  writeFileSync(join(dirname(pathOf(folder, blob)), 'notes.txt'), 'somebody wrote something down');
  mkdirSync(join(folder, 'blobs', 'keccak256', 'lost+found'));
  mkdirSync(join(dirname(pathOf(folder, blob)), 'f'.repeat(64)));
  const listed: string[] = [];
  for await (const entry of listBlobs(store, NEVER)) listed.push(entry.versionHash);
  expect(listed).toEqual([blob.versionHash]);
});

test('a fault of the disk is an error that says what failed, and never "not there"', async () => {
  const folder = temporaryFolder();
  const store = await open(folder);
  const blob = sampleBlob('faulty', 100_000);
  mkdirSync(dirname(pathOf(folder, blob)), { recursive: true });
  symlinkSync(pathOf(folder, blob), pathOf(folder, blob));
  await expect(store.get(nameOf(blob), NEVER)).rejects.toMatchObject({
    code: 'storage/fault',
    details: { backend: 'local', operation: 'get', systemCode: 'ELOOP' },
  });
  await expect(store.stat(nameOf(blob), NEVER)).rejects.toMatchObject({ code: 'storage/fault' });
});

test('a copy of a file carries what tells that the file has changed, a row does not', async () => {
  const folder = temporaryFolder();
  const store = await open(folder);
  const row = sampleBlob('row', 10);
  const file = sampleBlob('file', 100_000);
  await store.put(row, 'replace', NEVER);
  await store.put(file, 'replace', NEVER);
  expect((await store.copy(nameOf(row), NEVER))?.identity).toBeNull();
  const before = (await store.copy(nameOf(file), NEVER))?.identity;
  expect(before).toMatchObject({ sizeBytes: 100_000n });
  expect((await store.copy(nameOf(file), NEVER))?.identity).toEqual(before);
  // The times of a file step by four milliseconds on some systems: two writes within a step have the same.
  await eventually(async () => {
    writeFileSync(pathOf(folder, file), file.bytes);
    expect((await store.copy(nameOf(file), NEVER))?.identity).not.toEqual(before);
  });
});

test('a file larger than any blob is read only as far as shows that', async () => {
  const folder = temporaryFolder();
  const store = await open(folder);
  const blob = sampleBlob('grown', 100_000);
  await store.put(blob, 'replace', NEVER);
  writeFileSync(pathOf(folder, blob), Buffer.alloc(8 * 1_048_576));
  expect((await store.get(nameOf(blob), NEVER))?.length).toBe(2_097_153);
});

describe('wrong bytes under the name of a blob', () => {
  test('a file is kept aside and replaced; the same bytes again are nothing new', async () => {
    const folder = temporaryFolder();
    const store = await open(folder);
    const blob = sampleBlob('spoilt', 80_000);
    await store.put(blob, 'replace', NEVER);
    const path = join(folder, 'blobs', blob.hashType, blob.versionHash.slice(0, 2), blob.versionHash);
    await store.put(blob, 'replace', NEVER);
    expect(existsSync(join(folder, 'blobs', 'damaged'))).toBe(false);
    writeFileSync(path, 'spoilt');
    await store.put(blob, 'replace', NEVER);
    const aside = join(folder, 'blobs', 'damaged', blob.hashType, blob.versionHash);
    expect(readdirSync(aside).map((name) => readFileSync(join(aside, name), 'utf8'))).toEqual(['spoilt']);
    expect(await store.get(blob, NEVER)).toEqual(Buffer.from(blob.bytes));
    const listed: string[] = [];
    for await (const { versionHash } of listBlobs(store, NEVER)) listed.push(versionHash);
    expect(listed).toEqual([blob.versionHash]);
  });

  test('damage to the whole disk does not fill it: 256 MiB are kept, and every blob is replaced', async () => {
    const folder = temporaryFolder();
    const store = await open(folder);
    const kept = join(folder, 'blobs', 'damaged', 'kept');
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, 'large'), '');
    truncateSync(join(kept, 'large'), 268_435_456);
    const blob = sampleBlob('spoilt', 80_000);
    await store.put(blob, 'replace', NEVER);
    writeFileSync(join(folder, 'blobs', blob.hashType, blob.versionHash.slice(0, 2), blob.versionHash), 'spoilt');
    await store.put(blob, 'replace', NEVER);
    expect(existsSync(join(folder, 'blobs', 'damaged', blob.hashType))).toBe(false);
    expect(await store.get(blob, NEVER)).toEqual(Buffer.from(blob.bytes));
  });

  test('a purge deletes it with the blob', async () => {
    const folder = temporaryFolder();
    const first = await LocalStore.open(folder);
    const [file, row] = [sampleBlob('spoilt', 80_000), sampleBlob('small', 100)];
    for (const blob of [file, row]) await first.put(blob, 'replace', NEVER);
    await first.close();
    const database = new Database(join(folder, 'blobs', 'small.sqlite'));
    database.prepare('UPDATE blob SET bytes = ?').run(Buffer.from('spoilt'));
    writeFileSync(join(folder, 'blobs', file.hashType, file.versionHash.slice(0, 2), file.versionHash), 'spoilt');
    const store = await open(folder);
    for (const blob of [file, row]) await store.put(blob, 'replace', NEVER);
    expect(existsSync(join(folder, 'blobs', 'damaged', file.hashType, file.versionHash))).toBe(true);
    for (const blob of [file, row]) {
      expect([await store.purge(nameOf(blob), NEVER), await store.purge(nameOf(blob), NEVER)]).toEqual([true, false]);
      expect(await store.stat(nameOf(blob), NEVER)).toBeNull();
    }
    expect(existsSync(join(folder, 'blobs', 'damaged', file.hashType, file.versionHash))).toBe(false);
    expect(database.prepare('SELECT bytes FROM damaged').pluck().all()).toEqual([]);
    database.close();
  });

  test('a small blob likewise', async () => {
    const folder = temporaryFolder();
    const store = await LocalStore.open(folder);
    const blob = sampleBlob('small', 100);
    await store.put(blob, 'replace', NEVER);
    await store.put(blob, 'replace', NEVER);
    await store.close();
    const database = new Database(join(folder, 'blobs', 'small.sqlite'));
    database.prepare('UPDATE blob SET bytes = ?').run(Buffer.from('spoilt'));
    const again = await open(folder);
    await again.put(blob, 'replace', NEVER);
    expect(database.prepare('SELECT bytes FROM damaged').pluck().all()).toEqual([Buffer.from('spoilt')]);
    database.close();
    expect(await again.get(blob, NEVER)).toEqual(Buffer.from(blob.bytes));
  });
});
