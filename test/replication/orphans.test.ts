import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { reindexedFolder } from '../../src/replication/reindexed-places.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const BLOBS = Array.from({ length: 8 }, (_, index) => sampleBlob(`orphan ${index}`, index % 2 === 0 ? 70_000 : 3_000));
const BYTES = BLOBS.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** A cache that is full of blobs which a backend holds. */
async function fullCache() {
  const s3 = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [s3], mode: 'cache', budgetBytes: BYTES });
  await scene.replication.admit(NEVER);
  for (const blob of BLOBS) await scene.spool(blob);
  await scene.replication.drain(['s3'], NEVER);
  scene.catalog.recordRebuilt();
  const isHere = async (blob: VerifiedBlob) => (await scene.store.stat(blob, NEVER)) !== null;
  const isInBooks = (blob: VerifiedBlob) =>
    scene.catalog
      .find(blob.versionHash)
      .some((entry) => scene.catalog.placementsOf(entry).some(({ backend }) => backend === 'local'));
  return { ...scene, s3, isHere, isInBooks };
}

test('a stop in the middle of an eviction leaves nothing that is in no books', async () => {
  const scene = await fullCache();
  const { store, replication, isHere, isInBooks } = scene;
  const stopping = new AbortController();
  const remove = store.delete.bind(store);
  store.delete = async (name, signal) => {
    stopping.abort();
    await remove(name, signal);
  };
  await replication.room.claim(BYTES, stopping.signal).catch(() => false);
  expect(stopping.signal.aborted).toBe(true);
  for (const blob of BLOBS) expect(await isHere(blob)).toBe(isInBooks(blob));
});

test('a copy that a crash left outside the catalog is recorded again at the next start, and the cache keeps its budget', async () => {
  const { catalog, replication, isHere, isInBooks } = await fullCache();
  const orphan = BLOBS.at(-1);
  if (orphan === undefined) throw new Error('There are eight.');
  // The crash: out of the books, not deleted.
  const held = catalog.find(orphan.versionHash).map((entry) => ({ entry, backend: 's3' }));
  expect(catalog.replicas.cached.recordEvicted(held)).toHaveLength(1);
  expect([await isHere(orphan), isInBooks(orphan)]).toEqual([true, false]);
  await replication.room.recount();
  await replication.room.claim(orphan.bytes.length, NEVER);
  replication.room.settle(orphan.bytes.length);
  await replication.folder.orphans.run(NEVER);
  expect(await Promise.all(BLOBS.map(isHere))).toEqual(BLOBS.map(isInBooks));
  expect(replication.room.cachedBytes).toBeLessThanOrEqual(BYTES);
});

test('a copy that a crash left outside the catalog is recorded again where a walk over the folder keeps it from the sweep', async () => {
  const { catalog, replication, local, damage, isHere, isInBooks } = await fullCache();
  const [orphan] = BLOBS;
  if (orphan === undefined) throw new Error('There are eight.');
  const held = catalog.find(orphan.versionHash).map((entry) => ({ entry, backend: 's3' }));
  expect(catalog.replicas.cached.recordEvicted(held)).toHaveLength(1);
  await replication.room.recount();
  const walk = reindexedFolder(local, catalog, damage, replication.room);
  expect(await walk.prove(orphan, NEVER)).toBe(orphan.bytes.length);
  await replication.folder.orphans.run(NEVER);
  const { hashType, versionHash, bytes } = orphan;
  const sizeBytes = bytes.length;
  const entry = { hashType, versionHash, sizeBytes, txid: null, medianTimeSeconds: null, firstSeenMs: 1 };
  walk.record([{ entry, reports: walk.reports }]);
  expect([await isHere(orphan), isInBooks(orphan)]).toEqual([true, true]);
  expect(replication.room.cachedBytes).toBe(BYTES);
});

test('a copy that a crash left outside the catalog, and that the disk does not give, is repaired and gives way in its turn', async () => {
  const { store, catalog, replication, isHere, isInBooks, conditions } = await fullCache();
  const [orphan] = BLOBS;
  if (orphan === undefined) throw new Error('There are eight.');
  const held = catalog.find(orphan.versionHash).map((entry) => ({ entry, backend: 's3' }));
  expect(catalog.replicas.cached.recordEvicted(held)).toHaveLength(1);
  const copy = store.copy.bind(store);
  const spy = vi.spyOn(store, 'copy').mockImplementation(async (name, signal) => {
    if (name.versionHash === orphan.versionHash) throw refusal('local', 'storage/fault');
    return await copy(name, signal);
  });
  await replication.folder.orphans.run(NEVER);
  spy.mockRestore();
  expect(isInBooks(orphan)).toBe(true);
  expect(conditions.has('damage')).toBe(true);
  expect(await replication.folder.mender.mendSome(NEVER)).toBe(true);
  expect(conditions.has('damage')).toBe(false);
  // The others have given way to the copy that came back.
  expect(replication.room.cachedBytes).toBe(orphan.bytes.length);
  expect(await replication.room.claim(BYTES, NEVER)).toBe(true);
  expect(await isHere(orphan)).toBe(false);
});

test('a copy that is being evicted while the cache is swept is not recorded again', async () => {
  const { store, replication, isHere, isInBooks } = await fullCache();
  const remove = store.delete.bind(store);
  let swept: Promise<void> | null = null;
  store.delete = async (name, signal) => {
    swept ??= replication.folder.orphans.run(NEVER);
    // Small blobs are listed and read without a wait: a sweep that waits for nothing else has seen them all.
    await nextTurn();
    await remove(name, signal);
  };
  expect(await replication.room.relieve(NEVER)).toBe(true);
  expect(swept).not.toBeNull();
  await swept;
  for (const blob of BLOBS) expect([isInBooks(blob), await isHere(blob)]).toEqual([false, false]);
  expect(replication.room.cachedBytes).toBe(0);
});

test('an eviction of small blobs makes their file smaller', async () => {
  const s3 = new MemoryBackend('s3');
  const small = Array.from({ length: 60 }, (_, index) => sampleBlob(`small ${index}`, 60_000 + index));
  const bytes = small.reduce((sum, blob) => sum + blob.bytes.length, 0);
  const scene = await replicationScene({ backends: [s3], mode: 'cache', budgetBytes: bytes });
  await scene.replication.admit(NEVER);
  for (const blob of small) await scene.spool(blob);
  await scene.replication.drain(['s3'], NEVER);
  await scene.store.reclaim(NEVER);
  const size = () => statSync(join(scene.folder, 'blobs', 'small.sqlite')).size;
  const full = size();
  expect(await scene.replication.room.claim(bytes * 0.9, NEVER)).toBe(true);
  expect(size()).toBeLessThan(full * 0.4);
});
