import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { ContentEntry } from '../../src/catalog/content-table.ts';
import { reindexedFolder } from '../../src/replication/reindexed-places.ts';
import { warning } from '../../src/storage/probe.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';
import { type ReplicationSetup, replicationScene } from './replication-scene.ts';

/** A blob in the local store and on a backend. */
async function stored(blob: VerifiedBlob, setup: Partial<ReplicationSetup> = {}) {
  const backend = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [backend], ...setup });
  await scene.replication.admit(NEVER);
  await scene.spool(blob);
  await scene.replication.drain(['s3'], NEVER);
  const entry = (): ContentEntry => {
    const [found] = scene.catalog.find(blob.versionHash);
    if (found === undefined) throw new Error('The catalog does not know it.');
    return found;
  };
  const path = join(scene.folder, 'blobs', blob.hashType, blob.versionHash.slice(0, 2), blob.versionHash);
  return { ...scene, backend, entry, path };
}

const LARGE = sampleBlob('large', 80_000);

describe.each(['keep', 'cache'] as const)('a damaged copy in a local store that is a %s', (mode) => {
  test('is read again, kept aside, and replaced in place from a backend', async () => {
    const { replication, copies, damage, catalog, store, entry, path, folder, conditions } = await stored(LARGE, {
      mode,
    });
    writeFileSync(path, 'spoilt');
    const { found } = await damage.searched(entry(), () => copies.find(LARGE, NEVER));
    expect(found?.from).toBe('s3');
    expect(catalog.placementsOf(entry())).toContainEqual(
      expect.objectContaining({ backend: 'local', state: 'damaged' }),
    );
    expect(await replication.folder.mender.mendSome(NEVER)).toBe(true);
    expect(await store.get(LARGE, NEVER)).toEqual(Buffer.from(LARGE.bytes));
    expect(existsSync(join(folder, 'blobs', 'damaged', LARGE.hashType, LARGE.versionHash))).toBe(true);
    expect(catalog.placementsOf(entry())).toContainEqual(expect.objectContaining({ backend: 'local', state: 'good' }));
    expect(conditions.has('damage')).toBe(false);
    expect(await replication.folder.mender.mendSome(NEVER)).toBe(false);
  });
});

test('bytes that came wrong once from a good disk are not called damaged', async () => {
  const { copies, store } = await stored(LARGE, { mode: 'keep' });
  const { copy } = store;
  let reads = 0;
  store.copy = async (name, signal) => {
    const found = await copy.call(store, name, signal);
    reads += 1;
    if (reads > 1 || found === null) return found;
    return { ...found, blob: { ...found.blob, bytes: Buffer.alloc(80_000) }, identity: null };
  };
  const { found, bad } = await copies.find(LARGE, NEVER);
  expect([found?.from, bad]).toEqual(['local', []]);
});

test('a copy that could not be replaced in place keeps its room in the books', async () => {
  const { replication, copies, damage, store, entry, path } = await stored(LARGE, { mode: 'cache' });
  writeFileSync(path, 'spoilt');
  await damage.searched(entry(), () => copies.find(LARGE, NEVER));
  expect(replication.room.cachedBytes).toBe(80_000);
  const { keep } = store;
  store.keep = async () => {
    throw new Error('EIO');
  };
  await replication.folder.mender.mendSome(NEVER);
  expect(replication.room.cachedBytes).toBe(80_000);
  store.keep = keep;
});

describe('a cache', () => {
  /** Offers an evicted blob. `whilePut` runs when its bytes are written, and before they are in the books; then it stops. */
  const offerAlone = async (scene: Awaited<ReturnType<typeof stored>>, whilePut: () => void) => {
    const { replication, store } = scene;
    expect(await replication.room.relieve(NEVER)).toBe(true);
    const stopping = new AbortController();
    const filling = replication.folder.cacheFill.run(stopping.signal);
    const put = store.put.bind(store);
    store.put = async (...given) => {
      await put(...given);
      whilePut();
      stopping.abort();
    };
    expect(await offer(scene)).toBe('s3');
    await filling;
    expect(stopping.signal.aborted).toBe(true);
  };
  /** Lets all work go on by itself. A cache takes what is offered only once it was compared with the catalog. */
  const started = async (scene: Awaited<ReturnType<typeof stored>>) => {
    const comparing = vi.spyOn(scene.replication.folder.orphans, 'run');
    scene.start();
    await comparing.mock.results[0]?.value;
  };
  const offer = async (scene: Awaited<ReturnType<typeof stored>>, blob = LARGE) => {
    const { found } = await scene.copies.find(blob, NEVER);
    const [entry] = scene.catalog.find(blob.versionHash);
    if (found === null || entry === undefined) throw new Error('It is nowhere.');
    scene.replication.folder.cacheFill.offer(entry, found.blob);
    return found.from;
  };

  test('takes what was read from a backend, within its bytes, and gives older ones for it', async () => {
    const scene = await stored(LARGE, { budgetBytes: 100_000 });
    await started(scene);
    const second = sampleBlob('second', 90_000);
    await scene.spool(second);
    expect(await scene.store.stat(LARGE, NEVER)).toBeNull();
    await scene.replication.drain(['s3'], NEVER);
    await expect.poll(() => scene.catalog.totals().stored).toBe(2);
    expect(await offer(scene)).toBe('s3');
    await expect.poll(() => scene.catalog.replicas.cached.localBytes()).toBe(80_000);
    expect(await scene.store.stat(second, NEVER)).toBeNull();
    expect(await offer(scene)).toBe('local');
    expect(scene.replication.room.cachedBytes).toBe(80_000);
  });

  test('gives nothing that is not stored for it', async () => {
    const scene = await stored(LARGE, { budgetBytes: 100_000 });
    await started(scene);
    const waiting = sampleBlob('waiting', 90_000);
    scene.backend.before = (operation) => {
      if (operation.startsWith('put')) throw refusal('s3');
    };
    await scene.spool(waiting);
    expect(await offer(scene)).toBe('s3');
    // The next claim has its turn behind the offer.
    expect(await scene.replication.room.claimSpare(50_000, NEVER)).toBe(false);
    expect([await scene.store.stat(LARGE, NEVER), (await scene.store.stat(waiting, NEVER))?.sizeBytes]).toEqual([
      null,
      90_000,
    ]);
  });

  test('leaves a damaged copy to its repair, and counts its bytes once', async () => {
    const { replication, copies, damage, entry, path } = await stored(LARGE);
    const { folder, room } = replication;
    const stopping = new AbortController();
    const filling = folder.cacheFill.run(stopping.signal);
    writeFileSync(path, 'spoilt');
    const { found } = await damage.searched(entry(), () => copies.find(LARGE, NEVER));
    if (found === null) throw new Error('It is nowhere.');
    folder.cacheFill.offer(entry(), found.blob);
    expect(await folder.mender.mendSome(NEVER)).toBe(true);
    expect(room.cachedBytes).toBe(80_000);
    stopping.abort();
    await filling;
  });

  test.each([
    ['a stop', true],
    ['a take-down', false],
  ])(
    'has in its books what is in its folder, and nothing else, when %s comes while it writes',
    async (_what, isEntered) => {
      const scene = await stored(LARGE);
      const { replication, catalog, store, entry } = scene;
      const { cached } = catalog.replicas;
      await offerAlone(scene, () => {
        const { hashType, versionHash } = LARGE;
        const order = { archiver: 'a', reason: 'order', publicReason: null, atMs: 1, purge: false };
        if (!isEntered) catalog.withheld.record([{ hashType, versionHash, ...order }], false);
      });
      expect([cached.has(entry()), (await store.stat(LARGE, NEVER)) !== null]).toEqual([isEntered, isEntered]);
      expect(replication.room.cachedBytes).toBe(isEntered ? 80_000 : 0);
    },
  );

  test('holds a blob alone whose copy at the backend is called bad while it is written', async () => {
    const scene = await stored(LARGE);
    const { catalog, damage, entry } = scene;
    await offerAlone(scene, () => {
      damage.report('s3', LARGE);
      expect(catalog.findQueued(LARGE.versionHash)).not.toBeNull();
    });
    expect([entry().state, catalog.findQueued(LARGE.versionHash)]).toEqual(['spooled', null]);
  });

  test('counts bytes once that a walk over the folder enters while they are read', async () => {
    const { replication, copies, catalog, store, local, damage, entry } = await stored(LARGE);
    const { room, folder } = replication;
    expect(await room.relieve(NEVER)).toBe(true);
    const walk = reindexedFolder(local, catalog, damage, room);
    const put = store.put.bind(store);
    const entered = Promise.withResolvers<void>();
    store.put = async (...given) => {
      await put(...given);
      await walk.prove(LARGE, NEVER);
      const { hashType, versionHash, sizeBytes } = entry();
      const found = { hashType, versionHash, sizeBytes, txid: null, medianTimeSeconds: null, firstSeenMs: 1 };
      walk.record([{ entry: found, reports: walk.reports }]);
      entered.resolve();
    };
    const stopping = new AbortController();
    const filling = folder.cacheFill.run(stopping.signal);
    const { found } = await copies.find(LARGE, NEVER);
    if (found === null) throw new Error('It is nowhere.');
    folder.cacheFill.offer(entry(), found.blob);
    await entered.promise;
    stopping.abort();
    await filling;
    expect(catalog.replicas.cached.localBytes()).toBe(80_000);
    expect(room.cachedBytes).toBe(80_000);
  });

  test('claims no bytes that are deleted between the look at them and their record', async () => {
    const { replication, copies, catalog, store, entry } = await stored(LARGE);
    const { room, folder } = replication;
    expect(await room.relieve(NEVER)).toBe(true);
    const stopping = new AbortController();
    const filling = folder.cacheFill.run(stopping.signal);
    const { found } = await copies.find(LARGE, NEVER);
    if (found === null) throw new Error('It is nowhere.');
    const copy = store.copy.bind(store);
    const looked = Promise.withResolvers<void>();
    store.copy = async (...given) => {
      const read = await copy(...given);
      looked.resolve(room.deleteUncounted(LARGE));
      return read;
    };
    folder.cacheFill.offer(entry(), found.blob);
    await await looked.promise;
    stopping.abort();
    await filling;
    expect([catalog.replicas.cached.has(entry()), (await store.stat(LARGE, NEVER)) !== null]).toEqual([true, true]);
    expect(room.cachedBytes).toBe(80_000);
  });

  test('calls no copy damaged that came after the look for it', async () => {
    const { replication, copies, catalog, store, damage, conditions, entry } = await stored(LARGE);
    expect(await replication.room.relieve(NEVER)).toBe(true);
    const { bad } = await damage.searched(entry(), async () => {
      const search = await copies.find(LARGE, NEVER);
      if (search.found === null) throw new Error('It is nowhere.');
      await store.put(search.found.blob, 'create', NEVER);
      expect(catalog.replicas.cached.recordCached(entry())).toBe(true);
      return search;
    });
    expect(bad).toEqual([{ backend: 'local', kind: 'missing' }]);
    expect(catalog.replicas.cached.has(entry())).toBe(true);
    expect([catalog.replicas.damagedCount('local'), conditions.has('damage')]).toEqual([0, false]);
  });

  test('misses nothing of what a rebuild finds elsewhere', async () => {
    const backend = new MemoryBackend('s3');
    backend.blobs.set(keyOf(LARGE), LARGE.bytes);
    const { catalog } = await replicationScene({ backends: [backend] });
    const { hashType, versionHash } = LARGE;
    catalog.replicas.recordFound('s3', [
      { hashType, versionHash, sizeBytes: 80_000, txid: null, medianTimeSeconds: null, firstSeenMs: 1 },
    ]);
    expect(catalog.replicas.damagedCount('local')).toBe(0);
    expect(catalog.totals()).toMatchObject({ stored: 1 });
  });

  test('keeps what a backend may lose with its power, until it cannot', async () => {
    const [s3, kubo] = [new MemoryBackend('s3'), new MemoryBackend('ipfs')];
    s3.before = (operation) => {
      if (operation.startsWith('put')) throw refusal('s3');
    };
    kubo.findings = [...kubo.findings, warning('durable', 'It acknowledges before its disk has it.', 'Let it sync.')];
    const scene = await replicationScene({ backends: [kubo, s3], budgetBytes: 100_000 });
    await scene.replication.admit(NEVER);
    await scene.spool(LARGE);
    await scene.replication.drain(['ipfs'], NEVER);
    expect(scene.catalog.totals()).toMatchObject({ stored: 1 });
    expect(await scene.replication.room.claim(50_000, NEVER)).toBe(false);
    expect(await scene.store.stat(LARGE, NEVER)).not.toBeNull();
    // Written through, it goes where it stays.
    s3.before = () => {};
    expect(await scene.writer.put(sampleBlob('through', 50_000), NEVER)).toBe('s3');
    scene.clock.wallMs += 600_000;
    scene.clock.steadyMs += 600_000;
    expect(await scene.replication.room.claim(50_000, NEVER)).toBe(true);
    expect(await scene.store.stat(LARGE, NEVER)).toBeNull();
  });
});
