import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
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

test('what is withheld is not given from the moment that it is', async () => {
  const { archive, catalog } = await stored();
  const [blob, other] = small;
  if (blob === undefined || other === undefined) throw new Error('no blob');
  expect(archive.glance(blob.versionHash)).not.toBeNull();
  const { hashType, versionHash } = blob;
  catalog.withheld.record(
    [{ hashType, versionHash, archiver: 'file', reason: 'an order', atMs: 1, purge: false }],
    false,
  );
  expect(archive.glance(versionHash)).toBeNull();
  expect(archive.glance(other.versionHash)).not.toBeNull();
});

test('before the catalog is whole nothing is: what it does not know may be withheld', async () => {
  const scene = await archiveScene();
  const [blob] = small;
  if (blob === undefined) throw new Error('no blob');
  await scene.store.put(blob, NEVER);
  expect(scene.archive.glance(blob.versionHash)).toBeNull();
});
