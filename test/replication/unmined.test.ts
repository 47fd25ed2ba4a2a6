import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { SPOOL } from '../../src/catalog/placement-table.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { Spooler } from '../../src/ingest/spooler.ts';
import { reindexedFolder } from '../../src/replication/reindexed-places.ts';
import { UNMINED_KEPT_SECONDS, UnminedExpiry } from '../../src/replication/unmined-expiry.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { Activity } from '../../src/view/activity.ts';
import { openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';
import { eventually } from '../e2e/eventually.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const BEGUN = 1_790_000_000;
const LATER = BEGUN + 86_400;
const hash = (label: number) => parseBlockHash(label.toString(16).padStart(64, '0'));

function block(height: number, names: readonly Parameters<typeof nameOf>[0][] = []): WalkedBlock {
  const medianTimeSeconds = height === 100 ? BEGUN : LATER;
  return {
    height,
    hash: hash(height),
    previousHash: hash(height - 1),
    timeSeconds: medianTimeSeconds,
    medianTimeSeconds,
    unclear: [],
    occurrences: names.map((name, transactionIndex) => ({
      ...nameOf(name),
      transactionIndex,
      txid: parseTxId((height * 1_000 + transactionIndex).toString(16).padStart(64, '0')),
      vout: 0,
      makeRecord: () => '{}',
    })),
  };
}

function walk(catalog: Catalog): void {
  catalog.chain.recordStart(100);
  catalog.chain.recordBlocks([block(100)], () => false);
}

const unmined = { isUnmined: true, medianTimeSeconds: LATER };

test('a blob that no block has stays here; once a block has it, every backend is to get it', async () => {
  const backend = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [backend] });
  walk(scene.catalog);
  await scene.replication.admit(NEVER);
  const [mined, waiting] = [sampleBlob('mined', 100), sampleBlob('waiting', 100)];
  await scene.spool(mined, { medianTimeSeconds: LATER });
  await scene.spool(waiting, unmined);
  await scene.replication.drain(['s3'], NEVER);
  expect([...backend.blobs.keys()]).toEqual([`keccak256/${mined.versionHash}`]);
  expect(scene.catalog.totals()).toMatchObject({ spooled: 1, stored: 1 });
  expect(scene.catalog.losses.lateness(0, LATER + 1)).toMatchObject({ unstored: 0 });
  scene.catalog.chain.recordBlocks([block(101, [waiting])], () => false);
  await scene.replication.drain(['s3'], NEVER);
  expect(scene.catalog.totals()).toMatchObject({ spooled: 0, stored: 2 });
  // Taken back, it has been mined once: it stays where it is.
  scene.catalog.chain.takeBack(100);
  expect(scene.catalog.unmined.here(10)).toEqual([]);
});

test('a backend that is added later gets what was mined, and nothing else', async () => {
  const folder = temporaryFolder();
  const before = openCatalog({ folder, backends: ['local'] });
  walk(before);
  before.recordSpooled([spooled('mined', 'keccak256', { medianTimeSeconds: LATER })]);
  before.recordSpooled([{ ...spooled('waiting', 'keccak256', { medianTimeSeconds: LATER }), isUnmined: true }]);
  before.close();
  const after = openCatalog({ folder, backends: ['local', 's3'] });
  expect(after.replicas.queued('s3')).toBe(1);
});

test('a blob that no block had, that was damaged here and that a backend turns out to hold, is brought to the others', () => {
  const catalog = openCatalog({ backends: ['local', 's3', 'ipfs'] });
  walk(catalog);
  const waiting = spooled('waiting', 'keccak256', { medianTimeSeconds: LATER });
  catalog.recordSpooled([{ ...waiting, isUnmined: true }]);
  expect(catalog.recordDamaged('local', waiting)).toBe('to-be-fetched-again');
  catalog.replicas.recordFound('s3', [waiting]);
  expect([catalog.replicas.queued('s3'), catalog.replicas.queued('ipfs')]).toEqual([0, 1]);
});

test('a blob that was listed as the walk began may be in a block below: it is replicated', () => {
  const catalog = openCatalog({ backends: ['local', 's3'] });
  const facts = (medianTimeSeconds: number) => ({
    ...spooled(`${medianTimeSeconds}`, 'keccak256', { medianTimeSeconds }),
    isUnmined: true,
  });
  catalog.recordSpooled([facts(LATER)]);
  expect(catalog.replicas.queued('s3')).toBe(1);
  walk(catalog);
  catalog.recordSpooled([facts(BEGUN), facts(BEGUN + 21_600)]);
  expect(catalog.replicas.queued('s3')).toBe(3);
  catalog.recordSpooled([facts(LATER + 1)]);
  expect(catalog.replicas.queued('s3')).toBe(3);
});

test('a full cache evicts an unmined blob first, with a record of it, and no blob that was not stored', async () => {
  const [s3, dead] = [new MemoryBackend('s3'), new MemoryBackend('dead')];
  dead.before = () => {
    throw refusal('dead');
  };
  const scene = await replicationScene({ backends: [s3, dead], budgetBytes: 1_000, replicasRequired: 2 });
  walk(scene.catalog);
  await scene.replication.admit(NEVER);
  const held = sampleBlob('held by one', 400);
  await scene.spool(held, { medianTimeSeconds: LATER });
  await scene.replication.drain(['s3'], NEVER);
  const spam = sampleBlob('spam', 500);
  await scene.spool(spam, unmined);
  expect(await scene.spool(sampleBlob('new', 450), { medianTimeSeconds: LATER })).toBe('local');
  expect(await scene.store.stat(spam, NEVER)).toBeNull();
  expect(await scene.store.stat(held, NEVER)).not.toBeNull();
  expect(scene.catalog.find(spam.versionHash)).toEqual([]);
  expect(scene.catalog.unmined.evictions(spam.versionHash)).toEqual([
    { hashType: 'keccak256', reason: 'no-room', sizeBytes: 500, evictedMs: scene.clock.wallMs, returnedMs: null },
  ]);
  // Mined after all: it is wanted, and what comes is told to have come again.
  scene.catalog.chain.recordBlocks([block(101, [spam])], () => false);
  expect(scene.catalog.findQueued(spam.versionHash)).toMatchObject({ hashType: 'keccak256' });
  scene.catalog.recordSpooled([
    { ...nameOf(spam), sizeBytes: 500, txid: null, medianTimeSeconds: LATER, firstSeenMs: 1 },
  ]);
  expect(scene.catalog.unmined.evictions(spam.versionHash)).toMatchObject([{ returnedMs: scene.clock.wallMs }]);
  expect(scene.catalog.replicas.queued('s3')).toBe(2);
});

test('damage of a blob that was evicted unmined, and was mined and written to a backend since, is recorded', async () => {
  const s3 = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [s3], budgetBytes: 1_000 });
  const { catalog, damage } = scene;
  walk(catalog);
  await scene.replication.admit(NEVER);
  const evicted = sampleBlob('evicted', 500);
  await scene.spool(evicted, unmined);
  await scene.spool(sampleBlob('kept', 800), { medianTimeSeconds: LATER });
  expect(catalog.find(evicted.versionHash)).toEqual([]);
  catalog.chain.recordBlocks([block(101, [evicted])], () => false);
  s3.blobs.set(`keccak256/${evicted.versionHash}`, evicted.bytes);
  const facts = { sizeBytes: 500, txid: null, medianTimeSeconds: LATER, firstSeenMs: 1 };
  catalog.replicas.recordFound('s3', [{ ...nameOf(evicted), ...facts }]);
  expect(catalog.totals()).toMatchObject({ stored: 1 });
  s3.blobs.clear();
  expect(damage.report('s3', evicted)).toBe(true);
  expect(catalog.totals()).toMatchObject({ stored: 0 });
  expect(catalog.findQueued(evicted.versionHash)).toMatchObject({ hashType: 'keccak256' });
});

test('an old blob that no block has is evicted as soon as the list names it no more', async () => {
  const { catalog, replication, conditions, spool, store, damage } = await replicationScene({ backends: [] });
  walk(catalog);
  const blob = sampleBlob('old', 500);
  await spool(blob, unmined);
  // A copy that rotted is not damaged any more once its blob is evicted.
  damage.report('local', blob);
  expect(conditions.has('damage')).toBe(true);
  let isListed = true;
  const tip = { height: 101, hash: hash(101), medianTimeSeconds: LATER + UNMINED_KEPT_SECONDS + 1, syncing: false };
  const changes = new Notifier();
  const listing = { state: { tip }, isListed: () => isListed };
  const stopping = new AbortController();
  const running = new UnminedExpiry(catalog, replication.room, damage, listing, conditions, changes).run(
    stopping.signal,
  );
  await nextTurn();
  expect(await store.stat(blob, NEVER)).not.toBeNull();
  isListed = false;
  changes.notify();
  // The loop looks again by itself after half a minute.
  await eventually(async () => expect(await store.stat(blob, NEVER)).toBeNull());
  expect(conditions.has('damage')).toBe(false);
  stopping.abort();
  await running;
});

test('a blob that no block has is not written through to a backend where there is no room', async () => {
  const backend = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [backend], budgetBytes: 100 });
  await scene.replication.admit(NEVER);
  const put = scene.writer.put(sampleBlob('spam', 500), NEVER, () => true);
  await expect(put).rejects.toMatchObject({ code: 'archive/no-room-for-unmined' });
  expect(backend.blobs.size).toBe(0);
  expect(await scene.writer.put(sampleBlob('mined', 500), NEVER)).toBe('s3');
});

test('a blob that gets its block while it waits for room is no unmined one any more, and is not fetched again', async () => {
  const { catalog, conditions } = await replicationScene({ backends: [new MemoryBackend('s3')] });
  walk(catalog);
  const blob = sampleBlob('mined meanwhile', 500);
  catalog.noteListed([sighting('', { versionHash: blob.versionHash, medianTimeSeconds: LATER })]);
  const told: boolean[] = [];
  const path = {
    put: async (_blob: VerifiedBlob, _signal: AbortSignal, isUnmined: () => boolean) => {
      told.push(isUnmined());
      catalog.chain.recordBlocks([block(101, [blob])], () => false);
      told.push(isUnmined());
      return SPOOL;
    },
    enterAgain: async () => undefined,
    clearHere: async () => undefined,
  };
  const spooler = new Spooler(path, catalog, conditions, new Activity(), SYSTEM_CLOCK);
  const listed = { ...sighting('', { medianTimeSeconds: LATER }), firstSeenMs: 1, isUnmined: true };
  await spooler.spool(blob, listed, NEVER);
  expect(told).toEqual([true, false]);
  expect(catalog.findQueued(blob.versionHash)).toBeNull();
});

test('a number that a content had is never given again', () => {
  const folder = temporaryFolder();
  const before = openCatalog({ folder });
  walk(before);
  before.recordSpooled([{ ...spooled('first', 'keccak256', { medianTimeSeconds: LATER }), isUnmined: true }]);
  expect(before.unmined.recordEvicted(before.unmined.before(LATER + 1, 10, 0), 'expired')).toMatchObject([
    { sequence: 1 },
  ]);
  expect(before.totals()).toEqual({ seen: 0, spooled: 0, stored: 0, storedBytes: 0 });
  before.close();
  expect(existsSync(folder)).toBe(true);
  const after = openCatalog({ folder });
  after.recordSpooled([spooled('second')]);
  expect(after.page('oldest', null, 10)).toMatchObject([{ sequence: 2 }]);
});

/** An archive with an old blob that no block has, which is evicted at this word. */
async function withOldBlob() {
  const scene = await replicationScene({ backends: [] });
  walk(scene.catalog);
  scene.catalog.recordRebuilt();
  const blob = sampleBlob('old', 500);
  await scene.spool(blob, unmined);
  const { room } = scene.replication;
  const evict = async () => await room.expire(scene.catalog.unmined.before(LATER + 1, 10, 0), NEVER);
  const { hashType, versionHash } = blob;
  const facts = { hashType, versionHash, sizeBytes: 500, txid: null, medianTimeSeconds: LATER, firstSeenMs: 1 };
  const isHere = async () => (await scene.store.stat(blob, NEVER)) !== null;
  return { ...scene, room, blob, facts, evict, isHere };
}

test('an imported blob is not deleted by an eviction, nor by a sweep, between its bytes and its row', async () => {
  const { catalog, conditions, writer, replication, blob, facts, evict, isHere } = await withOldBlob();
  const importing = async (meanwhile: () => Promise<unknown>) => {
    const path = {
      put: async (...given: Parameters<typeof writer.put>) => {
        const where = await writer.put(...given);
        await meanwhile();
        return where;
      },
      enterAgain: async (...given: Parameters<typeof writer.enterAgain>) => await writer.enterAgain(...given),
      clearHere: async (...given: Parameters<typeof writer.clearHere>) => await writer.clearHere(...given),
    };
    await new Spooler(path, catalog, conditions, new Activity(), SYSTEM_CLOCK).spool(blob, facts, NEVER);
  };
  await importing(evict);
  expect([await isHere(), catalog.find(blob.versionHash).length]).toEqual([true, 1]);
  expect(await evict()).toBe(1);
  expect([await isHere(), catalog.find(blob.versionHash).length]).toEqual([false, 0]);
  await importing(() => replication.folder.orphans.run(NEVER));
  expect([await isHere(), catalog.find(blob.versionHash).length]).toEqual([true, 1]);
});

test('a blob that a walk over the folder has proven is not evicted before it is recorded', async () => {
  const { catalog, local, damage, room, blob, facts, evict, isHere } = await withOldBlob();
  const folder = reindexedFolder(local, catalog, damage, room);
  expect(await folder.prove(blob, NEVER)).toBe(500);
  expect(await evict()).toBe(0);
  folder.record([{ entry: facts, reports: folder.reports }]);
  expect([await isHere(), catalog.find(blob.versionHash).length]).toEqual([true, 1]);
});

test('a blob that is being evicted is not proven by a walk over the folder', async () => {
  const { catalog, store, local, damage, room, blob, evict } = await withOldBlob();
  const folder = reindexedFolder(local, catalog, damage, room);
  const remove = store.delete.bind(store);
  const walking = new Promise<number | null>((resolve, reject) => {
    store.delete = async (name, signal) => {
      folder.prove(blob, NEVER).then(resolve, reject);
      // A small blob is read without a wait: a walk that waits for nothing else has read it.
      await nextTurn();
      await remove(name, signal);
    };
  });
  expect(await evict()).toBe(1);
  expect(await walking).toBeNull();
});
