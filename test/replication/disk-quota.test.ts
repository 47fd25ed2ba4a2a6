import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

test('no claim gets room while a full disk deletes evicted blobs: it may be for the same blob again', async () => {
  const { replication, store, spool } = await replicationScene({ backends: [new MemoryBackend('s3')] });
  await replication.admit(NEVER);
  await spool(sampleBlob('evicted', 500));
  await replication.drain(['s3'], NEVER);
  const order: string[] = [];
  const { delete: plainly } = store;
  store.delete = async (name, signal) => {
    for (let turns = 0; turns < 10; turns += 1) await turn();
    await plainly.call(store, name, signal);
    order.push('deleted');
  };
  const relieving = replication.room.relieve(NEVER);
  await replication.room.claim(500, NEVER);
  order.push('given');
  expect([await relieving, order]).toEqual([true, ['deleted', 'given']]);
});

test('a cache counts no blob that a take-down took out of its books, from its next look on', async () => {
  const scene = await replicationScene({ backends: [new MemoryBackend('s3')], budgetBytes: 5_000 });
  const { replication, catalog, spool } = scene;
  const blob = sampleBlob('taken down', 500);
  await spool(blob);
  expect(replication.room.cachedBytes).toBe(blob.bytes.length);
  const how = { archiver: 'this', reason: 'test', publicReason: null, atMs: 1, purge: true };
  catalog.withheld.record([{ ...nameOf(blob), ...how }], false);
  await replication.lookAtRoom(NEVER);
  expect(replication.room.cachedBytes).toBe(0);
});

test.each(['before', 'after'])(
  'a cache counts a damaged copy once it is repaired, found %s a look at the disk',
  async (when) => {
    const scene = await replicationScene({ backends: [new MemoryBackend('s3')], budgetBytes: 5_000 });
    const { replication, catalog, damage, store, spool } = scene;
    const blob = sampleBlob('damaged', 500);
    await replication.admit(NEVER);
    await spool(blob);
    await replication.drain(['s3'], NEVER);
    await store.delete(nameOf(blob), NEVER);
    damage.report('local', blob);
    if (when === 'before') await replication.room.lookAtDisk();
    expect(await replication.folder.mender.mendSome(NEVER)).toBe(true);
    expect([replication.room.cachedBytes, catalog.replicas.cached.localBytes()]).toEqual([500, 500]);
  },
);

test('a disk that fills within one look is neither filled past its reserve nor untold', async () => {
  const MIB = 1_048_576;
  const disk = { freeBytes: 100 * MIB, totalBytes: 100 * MIB };
  const { replication, conditions } = await replicationScene({
    backends: [],
    mode: 'keep',
    disk: async () => ({ ...disk }),
  });
  const { room } = replication;
  let written = 0;
  // The clock stands: only what was claimed tells that the first look is out of date.
  while (await room.claim(MIB, NEVER)) {
    disk.freeBytes -= MIB;
    room.settle(MIB);
    written += 1;
  }
  // 40 MiB of it stay free: the least that the catalog needs, or two fifths of a disk as small as this.
  expect(written).toBe(60);
  expect(conditions.all().map(({ code }) => code)).toContain('disk/nearly-full');
});

test('a disk that others fill is told at the next look, where no blob is written, and no more when it has room again', async () => {
  const MIB = 1_048_576;
  const disk = { freeBytes: 100 * MIB, totalBytes: 100 * MIB };
  const { replication, conditions } = await replicationScene({
    backends: [],
    mode: 'keep',
    disk: async () => ({ ...disk }),
  });
  const told = () => conditions.all().map(({ code }) => code);
  await replication.lookAtRoom(NEVER);
  expect(told()).toEqual([]);
  disk.freeBytes = 10 * MIB;
  await replication.lookAtRoom(NEVER);
  expect(told()).toEqual(['disk/nearly-full']);
  disk.freeBytes = 100 * MIB;
  await replication.lookAtRoom(NEVER);
  expect(told()).toEqual([]);
});

test('room for bytes that are being written is not given twice', async () => {
  const MIB = 1_048_576;
  // No byte of it has reached the disk yet at any look.
  const { replication } = await replicationScene({
    backends: [],
    mode: 'keep',
    disk: async () => ({ freeBytes: 45 * MIB, totalBytes: 100 * MIB }),
  });
  const { room } = replication;
  for (let claimed = 0; claimed < 5; claimed += 1) expect(await room.claim(MIB, NEVER)).toBe(true);
  expect(await room.claim(MIB, NEVER)).toBe(false);
  room.settle(MIB);
  expect(await room.claim(MIB, NEVER)).toBe(true);
});

test('a look at the disk for its own sake does not give room twice that a write takes meanwhile', async () => {
  const MIB = 1_048_576;
  const disk = { freeBytes: 42 * MIB, totalBytes: 100 * MIB };
  const answers: (() => void)[] = [];
  const { replication } = await replicationScene({
    backends: [],
    mode: 'keep',
    disk: () => {
      const seen = { ...disk };
      return new Promise((resolve) => answers.push(() => resolve(seen)));
    },
  });
  const { room } = replication;
  /** The last look that was begun ends first. */
  const answerAll = async () => {
    await turn();
    for (const answer of answers.splice(0).reverse()) {
      answer();
      await turn();
    }
  };
  const first = room.claim(2 * MIB, NEVER);
  await answerAll();
  expect(await first).toBe(true);
  const second = room.claim(MIB, NEVER);
  await turn();
  disk.freeBytes -= 2 * MIB;
  room.settle(2 * MIB);
  const look = room.lookAtDisk();
  await answerAll();
  // 40 MiB have to stay free.
  expect(await second).toBe(false);
  await answerAll();
  await look;
});

test('a blob that cannot be deleted keeps none of the others, and stays counted', async () => {
  const { replication, store, spool } = await replicationScene({ backends: [new MemoryBackend('s3')] });
  await replication.admit(NEVER);
  const blobs = ['first', 'second', 'third'].map((label) => sampleBlob(label, 500));
  for (const blob of blobs) await spool(blob);
  await replication.drain(['s3'], NEVER);
  expect(replication.room.cachedBytes).toBe(1_500);
  const { delete: plainly } = store;
  store.delete = async (key, signal) => {
    if (typeof key === 'object' && key.versionHash === blobs[0]?.versionHash) throw new Error('EIO');
    await plainly.call(store, key, signal);
  };
  await expect(replication.room.relieve(NEVER)).rejects.toThrow('EIO');
  expect(replication.room.cachedBytes).toBe(500);
  // The next claim has its turn.
  expect(await replication.room.claim(500, NEVER)).toBe(true);
});

test('other files leave so much free that the disk is not nearly full, and the blobs that are being written have room', async () => {
  const MIB = 1_048_576;
  let freeBytes = 100 * MIB;
  const { replication, conditions } = await replicationScene({
    backends: [],
    mode: 'keep',
    disk: async () => ({ freeBytes, totalBytes: 100 * MIB }),
  });
  const { room } = replication;
  expect(await room.reservedBytes()).toBe(50 * MIB);
  await room.claim(MIB, NEVER);
  expect(await room.reservedBytes()).toBe(51 * MIB);
  room.settle(MIB);
  expect(await room.reservedBytes()).toBe(50 * MIB);
  // An export has taken all the rest.
  freeBytes = await room.reservedBytes();
  await room.lookAtDisk();
  expect(conditions.has('room')).toBe(false);
  expect(await room.claim(MIB, NEVER)).toBe(true);
});

/** A cache full of blobs that a first backend holds; two copies are required. `searches`: grades that it looked for. */
async function heldByOne(second: MemoryBackend) {
  const backends = [new MemoryBackend('first'), second];
  const scene = await replicationScene({ backends, budgetBytes: 1_500, replicasRequired: 2 });
  const { replication, catalog, clock, spool } = scene;
  const { cached } = catalog.replicas;
  const evictable = cached.evictable.bind(cached);
  const searches: string[] = [];
  cached.evictable = (grade, safety, ...given) => {
    if (safety === 'kept') searches.push(grade);
    return evictable(grade, safety, ...given);
  };
  await replication.admit(NEVER);
  const fill = async (label: string, ...ids: string[]) => {
    for (let index = 0; index < 3; index += 1) await spool(sampleBlob(`${label} ${index}`, 500));
    await replication.drain(ids, NEVER);
  };
  await fill('held by one', 'first');
  return { replication, room: replication.room, clock, fill, searches };
}

test('a cache looks for no stored blob while fewer backends answer than are required', async () => {
  const away = new MemoryBackend('second');
  away.before = () => {
    throw refusal('second');
  };
  const { room, searches } = await heldByOne(away);
  expect([await room.claimSpare(500, NEVER), searches]).toEqual([false, []]);
  expect([await room.claim(500, NEVER), searches]).toEqual([true, ['held-elsewhere']]);
});

test('a search that found no stored blob is repeated for spare room after ten seconds, and for every claim', async () => {
  const { room, clock, fill, searches } = await heldByOne(new MemoryBackend('second'));
  for (let reads = 0; reads < 3; reads += 1) expect(await room.claimSpare(500, NEVER)).toBe(false);
  expect(searches).toEqual(['stored']);
  expect(await room.claim(1_500, NEVER)).toBe(true);
  expect(searches).toEqual(['stored', 'stored', 'held-elsewhere']);
  room.settle(1_500);
  room.giveBack(1_500);
  await fill('stored', 'first', 'second');
  clock.steadyMs += 9_999;
  expect(await room.claimSpare(500, NEVER)).toBe(false);
  clock.steadyMs += 1;
  expect(await room.claimSpare(500, NEVER)).toBe(true);
});

test('a claim takes the blobs that came to be stored since, however soon after a search that found none', async () => {
  const { room, replication, searches } = await heldByOne(new MemoryBackend('second'));
  expect(await room.claimSpare(500, NEVER)).toBe(false);
  await replication.drain(['second'], NEVER);
  expect(await room.claim(500, NEVER)).toBe(true);
  expect(searches).toEqual(['stored', 'stored']);
});
