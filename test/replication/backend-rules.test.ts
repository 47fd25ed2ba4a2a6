import { expect, test } from 'vitest';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { blobScrub } from '../../src/replication/checked-blobs.ts';
import { siteHolding } from '../../src/replication/holding.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const SMALL = sampleBlob('small', 500);
const LARGE = sampleBlob('large', 5_000);
const SMALL_ONLY = new ArchiveRule({ maxBlobBytes: 1_000, allowed: null }, 'replicated there');
const backendRules = new Map([['ipfs', SMALL_ONLY]]);

/** A bucket that takes every blob, and a Kubo that takes small ones. */
async function sceneOf(setup: Partial<Parameters<typeof replicationScene>[0]> = {}) {
  const [s3, ipfs] = [new MemoryBackend('s3'), new MemoryBackend('ipfs')];
  const scene = await replicationScene({ backends: [ipfs, s3], backendRules, ...setup });
  await scene.replication.admit(NEVER);
  const drain = () => scene.replication.drain(['s3', 'ipfs'], NEVER);
  return { ...scene, s3, ipfs, drain };
}

test('each backend gets what its rule takes, and the local copy goes on the word of those that hold it', async () => {
  const { spool, drain, s3, ipfs, replication, store, catalog } = await sceneOf({ budgetBytes: 5_500 });
  for (const blob of [SMALL, LARGE]) await spool(blob);
  await replication.drain(['ipfs'], NEVER);
  expect([[...ipfs.blobs.keys()], catalog.totals().stored]).toEqual([[keyOf(SMALL)], 1]);
  // No backend holds the large one yet: it stays, whatever has to give way.
  expect(await replication.room.claim(5_500, NEVER)).toBe(false);
  expect([await store.stat(SMALL, NEVER), (await store.stat(LARGE, NEVER))?.sizeBytes]).toEqual([null, 5_000]);
  await drain();
  expect([s3.blobs.size, catalog.totals().stored]).toEqual([2, 2]);
  expect([await replication.room.claim(5_500, NEVER), await store.stat(LARGE, NEVER)]).toEqual([true, null]);
  expect(replication.status().map(({ id, queued, rule }) => [id, queued, rule])).toEqual([
    ['ipfs', 0, SMALL_ONLY.says],
    ['s3', 0, null],
  ]);
});

test('without room here a blob is written through to a backend that takes it, and to no other', async () => {
  const { spool, s3, ipfs } = await sceneOf({ budgetBytes: 100 });
  expect([await spool(SMALL), await spool(LARGE)]).toEqual(['ipfs', 's3']);
  s3.before = () => {
    throw refusal('s3');
  };
  await expect(spool(sampleBlob('another', 4_000))).rejects.toMatchObject({ code: 'storage/full' });
  expect([...ipfs.blobs.keys()]).toEqual([keyOf(SMALL)]);
});

/** Both backends hold both blobs, and then the rule comes into force. */
async function stricter(blobs = [SMALL, LARGE], holders = ['s3', 'ipfs']) {
  const folder = temporaryFolder();
  const before = await sceneOf({ folder, backendRules: new Map() });
  for (const blob of blobs) await before.spool(blob);
  await before.replication.drain(holders, NEVER);
  before.catalog.close();
  const { s3, ipfs } = before;
  const budgetBytes = blobs.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const scene = await sceneOf({ folder, backends: [ipfs, s3], budgetBytes });
  const site = scene.replication.sites.find(({ id }) => id === 'ipfs');
  if (site === undefined) throw new Error('There is no Kubo.');
  return { ...scene, s3, ipfs, scrub: blobScrub(siteHolding(site), scene) };
}

test('under a stricter rule a copy stays and is scrubbed; one that is gone is no loss, and is not brought back', async () => {
  const { scrub, ipfs, drain, conditions, catalog } = await stricter();
  const whole = { index: 1, of: 1 };
  expect(await scrub.check(whole, () => {}, NEVER)).toMatchObject({ listed: 2, read: 2, missing: 0, unknown: 0 });
  ipfs.blobs.delete(keyOf(LARGE));
  expect(await scrub.check(null, () => {}, NEVER)).toMatchObject({ listed: 1, missing: 0, damaged: 0 });
  expect([conditions.has('damage'), catalog.replicas.queued('ipfs'), catalog.replicas.goodCount('ipfs')]).toEqual([
    false,
    0,
    1,
  ]);
  await drain();
  expect([...ipfs.blobs.keys()]).toEqual([keyOf(SMALL)]);
  // A copy that the rule takes is repaired as ever.
  ipfs.blobs.delete(keyOf(SMALL));
  expect(await scrub.check(null, () => {}, NEVER)).toMatchObject({ missing: 1 });
  await drain();
  expect([...ipfs.blobs.keys()]).toEqual([keyOf(SMALL)]);
});

test('behind copies that are gone there and not brought back, others are found that may go', async () => {
  // More than are looked at together.
  const gone = Array.from({ length: 80 }, (_, index) => sampleBlob(`gone ${index}`, 2_000));
  const { ipfs, replication, store } = await stricter([...gone, SMALL], ['ipfs']);
  for (const blob of gone) ipfs.blobs.delete(keyOf(blob));
  expect(await replication.room.claim(100, NEVER)).toBe(true);
  const here = await Promise.all([...gone, SMALL].map((blob) => store.stat(blob, NEVER)));
  expect(here.map((found) => found !== null)).toEqual([...gone.map(() => true), false]);
});

test('the last copy is told of and counted though the rule leaves it out, and is forgotten when another place holds it', async () => {
  const { scrub, s3, ipfs, spool, drain, conditions, catalog, store } = await stricter([LARGE], ['ipfs']);
  catalog.replicas.recordUnproven('s3', catalog.find(LARGE.versionHash));
  s3.blobs.clear();
  const [entry] = catalog.find(LARGE.versionHash);
  if (entry === undefined) throw new Error('It has no row.');
  catalog.replicas.cached.recordEvicted([{ entry, backend: 'ipfs' }]);
  await store.purge(LARGE, NEVER);
  ipfs.blobs.delete(keyOf(LARGE));
  expect(await scrub.check(null, () => {}, NEVER)).toMatchObject({ missing: 1 });
  expect([conditions.has('damage'), catalog.totals().seen, catalog.replicas.damagedCount('ipfs')]).toEqual([
    true,
    1,
    1,
  ]);
  await spool(LARGE);
  await drain();
  expect([[...s3.blobs.keys()], [...ipfs.blobs.keys()]]).toEqual([[keyOf(LARGE)], []]);
  expect([conditions.has('damage'), catalog.totals().stored, catalog.replicas.queued('ipfs')]).toEqual([false, 1, 0]);
});
