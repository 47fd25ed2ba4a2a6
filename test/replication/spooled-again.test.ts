import { expect, test, vi } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { Spooler, type WritePath } from '../../src/ingest/spooler.ts';
import { ROW_LIMIT_BYTES } from '../../src/storage/local/local-store.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { MemoryBackend } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const SIZE = 500;
const FACTS = { sizeBytes: SIZE, txid: null, medianTimeSeconds: 1_790_000_000, firstSeenMs: 1_790_000_000_000 };

/** A cache beside a bucket that takes everything. */
async function cache(backend = new MemoryBackend('s3')) {
  const scene = await replicationScene({ backends: [backend], budgetBytes: 10 * SIZE });
  const { writer, catalog, conditions, activity, replication, store } = scene;
  await replication.admit(NEVER);
  const { room } = replication;
  const spoolBy = (path: WritePath) => {
    const spooler = new Spooler(path, catalog, conditions, activity, SYSTEM_CLOCK);
    return (blob: VerifiedBlob) => spooler.spool(blob, FACTS, NEVER);
  };
  /** Bytes of the copies in the books, by the catalog and by what may still come, and whether this one lies here. */
  const books = async (blob: VerifiedBlob) => ({
    inBooks: catalog.replicas.cached.localBytes(),
    counted: room.cachedBytes,
    isHere: (await store.stat(blob, NEVER)) !== null,
  });
  const evict = async () => expect(await room.relieve(NEVER)).toBe(true);
  return { ...scene, room, books, evict, spoolBy, spool: spoolBy(writer) };
}

test('a blob that was evicted and is spooled again is in the books again, and is evicted again', async () => {
  const { replication, books, evict, spool } = await cache();
  const blob = sampleBlob('evicted and again', SIZE);
  await spool(blob);
  await replication.drain(['s3'], NEVER);
  await evict();
  expect(await books(blob)).toEqual({ inBooks: 0, counted: 0, isHere: false });
  await spool(blob);
  expect(await books(blob)).toEqual({ inBooks: SIZE, counted: SIZE, isHere: true });
  await evict();
  expect(await books(blob)).toEqual({ inBooks: 0, counted: 0, isHere: false });
});

test('a blob that two sources give at once takes its room once', async () => {
  const { books, spool } = await cache();
  const blob = sampleBlob('given twice', SIZE);
  await Promise.all([spool(blob), spool(blob)]);
  await spool(blob);
  expect(await books(blob)).toEqual({ inBooks: SIZE, counted: SIZE, isHere: true });
});

test.each(['changed', 'gone'])('a blob whose copy was %s and that comes again takes its room once', async (how) => {
  const { books, damage, replication, store, spool } = await cache();
  const blob = sampleBlob(how, SIZE);
  await spool(blob);
  if (how === 'gone') await store.delete(nameOf(blob), NEVER);
  damage.report('local', nameOf(blob));
  await spool(blob);
  await replication.lookAtRoom(NEVER);
  expect(await books(blob)).toEqual({ inBooks: SIZE, counted: SIZE, isHere: true });
});

test('a blob is not evicted between its second write and the record of it, and takes its room once', async () => {
  const { writer, replication, room, books, spool, spoolBy } = await cache();
  const blob = sampleBlob('not evicted meanwhile', SIZE);
  let isEvicted: boolean | null = null;
  await spool(blob);
  await replication.drain(['s3'], NEVER);
  const again = spoolBy({
    put: async (...given) => {
      const where = await writer.put(...given);
      isEvicted = await room.relieve(NEVER);
      return where;
    },
    enterAgain: (...given) => writer.enterAgain(...given),
    clearHere: (...given) => writer.clearHere(...given),
  });
  await again(blob);
  expect(isEvicted).toBe(false);
  expect(await books(blob)).toEqual({ inBooks: SIZE, counted: SIZE, isHere: true });
});

/** A blob that was evicted, that the bucket has lost since, and that is queued to be fetched again. */
async function lostElsewhere(label: string) {
  const s3 = new MemoryBackend('s3');
  const scene = await cache(s3);
  const { catalog, damage, replication, evict, spool } = scene;
  const blob = sampleBlob(label, SIZE);
  await spool(blob);
  await replication.drain(['s3'], NEVER);
  await evict();
  s3.blobs.clear();
  damage.report('s3', nameOf(blob));
  const standing = () => ({
    state: catalog.find(blob.versionHash).map(({ state }) => state),
    attempts: catalog.findQueued(blob.versionHash)?.attempts ?? null,
  });
  expect(standing()).toEqual({ state: ['seen'], attempts: 0 });
  return { ...scene, blob, standing };
}

test('a copy that a crash left before its record, and that no other place holds, is held, and takes its room once', async () => {
  const { store, replication, books, spool, blob, standing } = await lostElsewhere('left before its record');
  // The crash: fetched again and written, and not recorded.
  await store.put(blob, 'create', NEVER);
  await replication.folder.orphans.run(NEVER);
  expect(standing()).toEqual({ state: ['spooled'], attempts: null });
  await spool(blob);
  expect(await books(blob)).toEqual({ inBooks: SIZE, counted: SIZE, isHere: true });
});

test('a damaged copy that a crash left, and that no other place holds, leaves the blob in the queue as it was', async () => {
  const { catalog, conditions, local, replication, store, blob, standing } = await lostElsewhere('damaged and left');
  const failure = { code: 'node/pruned', message: 'It is pruned.', nextAttemptMs: catalog.nowMs() };
  catalog.recordFailures([{ versionHash: blob.versionHash, ...failure }]);
  await store.put(blob, 'create', NEVER);
  vi.spyOn(local, 'examine').mockResolvedValue({ kind: 'damaged' });
  await replication.folder.orphans.run(NEVER);
  expect(standing()).toEqual({ state: ['seen'], attempts: 1 });
  expect(catalog.replicas.damagedCount('local')).toBe(1);
  expect(conditions.has('damage')).toBe(true);
});

/** A file and a row. */
test.each([ROW_LIMIT_BYTES + 1, SIZE])(
  'bytes that a crash left before their row go when a backend takes the blob: %i bytes',
  async (sizeBytes) => {
    const backend = new MemoryBackend('s3');
    const { writer, catalog, conditions, activity, replication, store } = await replicationScene({
      backends: [backend],
      budgetBytes: sizeBytes - 1,
    });
    await replication.admit(NEVER);
    const blob = sampleBlob('left by a crash', sizeBytes);
    await store.put(blob, 'create', NEVER);
    const spooler = new Spooler(writer, catalog, conditions, activity, SYSTEM_CLOCK);
    const arrivesToo = catalog.arriving.begin(blob);
    await spooler.spool(blob, { ...FACTS, sizeBytes }, NEVER);
    expect(await store.stat(blob, NEVER), 'it may be entered in the books by what brings it again').not.toBeNull();
    arrivesToo();
    await spooler.spool(blob, { ...FACTS, sizeBytes }, NEVER);
    expect(await store.stat(blob, NEVER)).toBeNull();
    const entries = catalog.find(blob.versionHash);
    expect(entries.flatMap((one) => catalog.placementsOf(one))).toMatchObject([{ backend: 's3', state: 'good' }]);
    expect(replication.room.cachedBytes).toBe(0);
  },
);

test('a store that keeps everything counts a blob that comes again once', async () => {
  const scene = await replicationScene({ backends: [], mode: 'keep' });
  const { writer, catalog, conditions, activity, replication } = scene;
  const spooler = new Spooler(writer, catalog, conditions, activity, SYSTEM_CLOCK);
  const blob = sampleBlob('kept', SIZE);
  for (let time = 0; time < 2; time += 1) await spooler.spool(blob, FACTS, NEVER);
  expect(replication.room.bytes).toBe(SIZE);
});
