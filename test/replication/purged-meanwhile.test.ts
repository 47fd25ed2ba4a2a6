import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { Spooler } from '../../src/ingest/spooler.ts';
import { purgeEverywhere } from '../../src/reading/withhold/purge.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const SIZE = 80_000;
const BLOB = sampleBlob('taken down meanwhile', SIZE);
const FACTS = { sizeBytes: SIZE, txid: null, medianTimeSeconds: 1_790_000_000, firstSeenMs: 1_790_000_000_000 };

/** A store beside a bucket, and a blob that is taken down while its bytes wait for room. */
async function scene(
  mode: 'cache' | 'keep' = 'cache',
  budgetBytes: number | null = null,
  others: readonly MemoryBackend[] = [],
) {
  const s3 = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [s3, ...others], mode, budgetBytes });
  const { catalog, replication, store, writer, conditions, activity } = scene;
  const { room } = replication;
  await replication.admit(NEVER);
  const spooler = new Spooler(writer, catalog, conditions, activity, SYSTEM_CLOCK);
  const isHere = async () => (await store.stat(BLOB, NEVER)) !== null;
  const takeDown = async (purge: boolean) => {
    const order = { archiver: 'a', reason: 'order', publicReason: null, atMs: 1, purge };
    catalog.withheld.record([{ ...nameOf(BLOB), ...order }], false);
    if (!purge) return;
    await purgeEverywhere(nameOf(BLOB), [store, s3], NEVER);
    expect([await isHere(), s3.blobs.size]).toEqual([false, 0]);
  };
  /** Does the work, which has to wait for its turn to claim room until the take-down is over. */
  const takenDownBeforeRoom = async (work: () => Promise<unknown>, purge = true) => {
    const goOn = Promise.withResolvers<void>();
    const waits = Promise.withResolvers<void>();
    const claim = room.claim.bind(room);
    room.claim = (...given) => {
      void room.withoutEviction(() => goOn.promise);
      waits.resolve();
      return claim(...given);
    };
    const working = work();
    await waits.promise;
    await takeDown(purge);
    goOn.resolve();
    await working;
  };
  const spool = () => spooler.spool(BLOB, FACTS, NEVER);
  const counted = async () => {
    const atOnce = room.cachedBytes;
    await replication.lookAtRoom(NEVER);
    return { atOnce, afterALook: room.cachedBytes };
  };
  return { ...scene, s3, room, spool, isHere, takeDown, takenDownBeforeRoom, counted };
}

test.each(['changed', 'gone'])(
  'a copy that was %s and is purged while its repair waits for room stays deleted',
  async (how) => {
    const { damage, folder, replication, store, spool, isHere, takenDownBeforeRoom, counted } = await scene();
    await spool();
    await replication.drain(['s3'], NEVER);
    if (how === 'gone') await store.delete(nameOf(BLOB), NEVER);
    else writeFileSync(join(folder, 'blobs', 'keccak256', BLOB.versionHash.slice(0, 2), BLOB.versionHash), 'spoilt');
    damage.report('local', nameOf(BLOB));
    await takenDownBeforeRoom(() => replication.folder.mender.mendSome(NEVER));
    expect(await isHere()).toBe(false);
    expect(await counted()).toEqual({ atOnce: SIZE, afterALook: 0 });
  },
);

test('a damaged copy that is taken down while a good one is searched for is left as it is', async () => {
  const { s3, damage, replication, store, spool, isHere, takeDown } = await scene();
  await spool();
  await replication.drain(['s3'], NEVER);
  await store.delete(nameOf(BLOB), NEVER);
  damage.report('local', nameOf(BLOB));
  s3.before = async (operation) => {
    if (operation === 'get') await takeDown(false);
  };
  await replication.folder.mender.mendSome(NEVER);
  expect(s3.asked).toContain(`get keccak256/${BLOB.versionHash}`);
  expect(await isHere()).toBe(false);
});

test('a new blob that is purged while it waits for room is not here, and has no room', async () => {
  const { spool, isHere, takenDownBeforeRoom, counted } = await scene();
  await takenDownBeforeRoom(spool);
  expect(await isHere()).toBe(false);
  expect(await counted()).toEqual({ atOnce: 0, afterALook: 0 });
});

test('a store that keeps everything keeps no blob that is purged while it waits for room', async () => {
  const { spool, isHere, takenDownBeforeRoom } = await scene('keep');
  await takenDownBeforeRoom(spool);
  expect(await isHere()).toBe(false);
});

test.each([
  ['purged', true],
  ['taken down', false],
])('a blob that is %s while it comes again gives back the room of its second coming alone', async (_how, purge) => {
  const { spool, isHere, takenDownBeforeRoom, counted } = await scene();
  await spool();
  await takenDownBeforeRoom(spool, purge);
  expect(await isHere()).toBe(!purge);
  expect(await counted()).toEqual({ atOnce: SIZE, afterALook: 0 });
});

test('a blob that is purged while a backend takes it, because here is no room, does not stay there', async () => {
  const { catalog, s3, spool, isHere, takeDown } = await scene('cache', SIZE - 1);
  s3.before = async (operation) => {
    if (operation === 'putNew') await takeDown(true);
  };
  await spool();
  expect([await isHere(), s3.blobs.size]).toEqual([false, 0]);
  expect(catalog.find(BLOB.versionHash)).toEqual([]);
});

test('a take-down that is revoked while the backend purges late bytes leaves no claim without them', async () => {
  const { catalog, s3, spool, takeDown } = await scene('cache', SIZE - 1);
  s3.before = async (operation) => {
    if (operation !== 'putNew') return;
    s3.before = () => {};
    await takeDown(true);
    const { purge } = s3;
    s3.purge = async (...given) => {
      const found = await purge.call(s3, ...given);
      catalog.withheld.revoke(catalog.withheld.find(BLOB), false, 2);
      s3.purge = purge;
      return found;
    };
  };
  await spool();
  expect(s3.blobs.size).toBe(1);
  expect(catalog.find(BLOB.versionHash)).toMatchObject([{ state: 'stored' }]);
});

test('late bytes that one backend refuses to purge are written to no other one', async () => {
  const other = new MemoryBackend('other');
  const { catalog, s3, spool, takeDown } = await scene('cache', SIZE - 1, [other]);
  s3.before = async (operation) => {
    if (operation !== 'putNew') return;
    await takeDown(true);
    s3.purge = async () => {
      throw refusal('s3');
    };
  };
  await spool();
  expect(s3.blobs.size).toBe(1);
  expect(other.asked.filter((one) => one.startsWith('put'))).toEqual([]);
  expect(catalog.find(BLOB.versionHash)).toEqual([]);
});

test('a blob that is taken down while every place refuses it is given up', async () => {
  const { s3, activity, spool, takeDown } = await scene('cache', SIZE - 1);
  let spooled = 0;
  activity.on('spooled', () => {
    spooled += 1;
  });
  s3.before = async (operation) => {
    if (operation !== 'putNew') return;
    s3.before = () => {};
    await takeDown(false);
    throw refusal('s3');
  };
  await spool();
  expect(s3.asked.filter((one) => one.startsWith('putNew'))).toHaveLength(1);
  expect(spooled).toBe(0);
});
