import { renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { StorageError } from '../../src/storage/errors.ts';
import { eventually } from '../e2e/eventually.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { archiveScene } from './archive-under-test.ts';

const small = [sampleBlob('a row', 1_024), sampleBlob('a row of the other hash', 700, 'blake2s256')];
const large = sampleBlob('a file', 80_000);

/** All are stored, and the catalog is whole. */
async function stored() {
  const dataDir = temporaryFolder();
  const scene = await archiveScene({ dataDir });
  for (const blob of [...small, large]) scene.node.publish(blob);
  scene.start();
  await eventually(() => expect(scene.catalog.totals().stored).toBe(3));
  await eventually(() => expect(scene.catalog.isRebuilt()).toBe(true));
  return { ...scene, dataDir };
}

test('a small blob of either hash is given at once, proven; a large one has to be read', async () => {
  const { archive } = await stored();
  for (const { versionHash, hashType, bytes } of small) {
    const glanced = archive.glance(versionHash);
    expect(glanced).toMatchObject({ versionHash, hashType });
    expect(Buffer.compare(glanced?.bytes ?? Buffer.of(), bytes)).toBe(0);
  }
  expect(archive.glance(large.versionHash)).toBeNull();
});

test('what was damaged since it was given is not given again, however often it was proven before', async () => {
  const { archive, dataDir } = await stored();
  const [blob] = small;
  if (blob === undefined) throw new Error('no blob');
  expect(archive.glance(blob.versionHash)).not.toBeNull();
  const rows = new Database(join(dataDir, 'blobs', 'small.sqlite'));
  const spoilt = Buffer.from(blob.bytes);
  spoilt.writeUInt8(spoilt.readUInt8(500) ^ 1, 500);
  rows.prepare('UPDATE blob SET bytes = ? WHERE version_hash = ?').run(spoilt, Buffer.from(blob.versionHash, 'hex'));
  rows.close();
  expect(archive.glance(blob.versionHash)).toBeNull();
});

test('a large blob is opened only as long as its file is the one that was proven', async () => {
  const { archive, dataDir } = await stored();
  const { hashType, versionHash, bytes } = large;
  expect(await archive.open(nameOf(small[0] ?? large), NEVER)).toBeNull();
  await archive.read({ hashType, versionHash }, NEVER);
  const file = await archive.open(large, NEVER);
  const read = Buffer.alloc(1_000);
  await file?.read(read, 70_000);
  expect(read.equals(Buffer.from(bytes.subarray(70_000, 71_000)))).toBe(true);
  const path = join(dataDir, 'blobs', hashType, versionHash.slice(0, 2), versionHash);
  const spoilt = Buffer.from(bytes);
  spoilt.writeUInt8(spoilt.readUInt8(500) ^ 1, 500);
  writeFileSync(path, spoilt);
  await expect(file?.read(read, 0)).rejects.toThrow(StorageError);
  file?.close();
  expect(await archive.open(large, NEVER)).toBeNull();
  rmSync(path);
  expect(await archive.open(large, NEVER)).toBeNull();
});

test('a file that was cut short, or replaced by one of the same bytes, is not the one that was proven', async () => {
  const { archive, dataDir } = await stored();
  const { hashType, versionHash, bytes } = large;
  await archive.read({ hashType, versionHash }, NEVER);
  const path = join(dataDir, 'blobs', hashType, versionHash.slice(0, 2), versionHash);
  const file = await archive.open(large, NEVER);
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
  expect(await archive.open(large, NEVER)).toBeNull();
  // It lies under no name any more, which is a change too.
  await expect(file?.read(Buffer.alloc(10), 0)).rejects.toThrow(StorageError);
  file?.close();
  await archive.read({ hashType, versionHash }, NEVER);
  const again = await archive.open(large, NEVER);
  expect(again).not.toBeNull();
  truncateSync(path, 1_000);
  await expect(again?.read(Buffer.alloc(10), 0)).rejects.toThrow(StorageError);
  again?.close();
});

test('what is withheld is not given from the moment that it is', async () => {
  const { archive, catalog } = await stored();
  const [blob, other] = small;
  if (blob === undefined || other === undefined) throw new Error('no blob');
  expect(archive.glance(blob.versionHash)).not.toBeNull();
  const { hashType, versionHash } = blob;
  catalog.withheld.record(
    [{ hashType, versionHash, archiver: 'file', publicReason: null, reason: 'an order', atMs: 1, purge: false }],
    false,
  );
  expect(archive.glance(versionHash)).toBeNull();
  expect(archive.glance(other.versionHash)).not.toBeNull();
  await archive.read(large, NEVER);
  (await archive.open(large, NEVER))?.close();
  catalog.withheld.record(
    [{ ...nameOf(large), archiver: 'file', publicReason: null, reason: 'an order', atMs: 1, purge: false }],
    false,
  );
  expect(await archive.open(large, NEVER)).toBeNull();
});

test('before the catalog is whole nothing is: what it does not know may be withheld', async () => {
  const scene = await archiveScene();
  const [blob] = small;
  if (blob === undefined) throw new Error('no blob');
  await scene.store.put(blob, 'replace', NEVER);
  expect(scene.archive.glance(blob.versionHash)).toBeNull();
});
