import { setTimeout as moment } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withheldPath } from '../../../src/catalog/withheld-document.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { TakeDowns } from '../../../src/reading/withhold/take-downs.ts';
import { WithheldPlaces } from '../../../src/reading/withhold/withheld-places.ts';
import { WithheldReading } from '../../../src/reading/withhold/withheld-reading.ts';
import type { WithheldRecordStore } from '../../../src/reading/withhold/withheld-records.ts';
import { WithheldSayings } from '../../../src/reading/withhold/withheld-sayings.ts';
import { blobScrub } from '../../../src/replication/checked-blobs.ts';
import { siteHolding } from '../../../src/replication/holding.ts';
import { parseRecordPath } from '../../../src/storage/record-path.ts';
import { MemoryBackend, refusal } from '../../replication/memory-backend.ts';
import { replicationScene } from '../../replication/replication-scene.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';

const BLOB = sampleBlob('taken down', 200);

/** A blob on a backend and in the cache, and what takes it down. */
async function scene(records: readonly WithheldRecordStore[] = []) {
  const backend = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [backend] });
  const { replication, catalog, local, custom, damage, conditions, time } = scene;
  await replication.admit(NEVER);
  await scene.spool(BLOB);
  await replication.drain(['s3'], NEVER);
  const sayings = new WithheldSayings('aa'.repeat(8), catalog, damage);
  const places = new WithheldPlaces(catalog, local, replication, custom, { forget: () => {} }, time);
  const takeDowns = new TakeDowns({
    ...{ sayings, catalog, places },
    evidence: { deliverNow: async () => new Map() },
    log: createLogger('fatal', { write: () => {} }),
    clock: time,
  });
  const reading = new WithheldReading({
    ...{ sayings, places, takeDowns, conditions, clock: time },
    stores: records,
    withheldFile: null,
  });
  const state = () => catalog.find(BLOB.versionHash).map((entry) => entry.state);
  return { ...scene, backend, takeDowns, reading, state };
}

test('a revocation in the middle of a purge never finds what is deleted after it', async () => {
  const { backend, takeDowns, state } = await scene();
  const deleting = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  backend.before = async (operation) => {
    if (operation !== 'delete') return;
    deleting.resolve();
    await goOn.promise;
  };
  const withholding = takeDowns.withhold(nameOf(BLOB), { reason: 'told to', publicReason: null, purge: true }, NEVER);
  await deleting.promise;
  const revoking = takeDowns.revoke(nameOf(BLOB), NEVER);
  // Time enough to find it again, would it not wait for its turn.
  await Promise.race([revoking, moment(200)]);
  goOn.resolve();
  expect((await withholding).purged.map(({ outcome }) => outcome)).toEqual(['deleted', 'deleted']);
  expect((await revoking).found).toEqual([]);
  expect([backend.blobs.size, state()]).toEqual([0, ['seen']]);
});

test('a purge of what is left that begins right behind the record leaves the outcome to the take-down', async () => {
  const { takeDowns } = await scene();
  const withholding = takeDowns.withhold(nameOf(BLOB), { reason: 'told to', publicReason: null, purge: true }, NEVER);
  await takeDowns.purgeWhatIsLeft(NEVER);
  expect((await withholding).purged.map(({ outcome }) => outcome)).toEqual(['deleted', 'deleted']);
});

test('an entry that was revoked while another one was purged is left where it is', async () => {
  const { backend, takeDowns, reading, clock, state } = await scene();
  const other = sampleBlob('another', 100);
  backend.before = (operation) => {
    if (operation === 'delete') throw refusal('s3');
  };
  for (const blob of [other, BLOB]) {
    const { purged } = await takeDowns.withhold(
      { ...nameOf(blob) },
      { reason: 'told to', publicReason: null, purge: true },
      NEVER,
    );
    expect(purged.find(({ place }) => place === 's3')?.outcome).toBe('failed');
    clock.wallMs += 1;
  }
  const begun = Promise.withResolvers<Promise<unknown>>();
  backend.before = (operation, name) => {
    if (operation !== 'delete' || name?.versionHash !== other.versionHash) return;
    begun.resolve(takeDowns.revoke(nameOf(BLOB), NEVER));
  };
  const stopping = new AbortController();
  const running = reading.run(stopping.signal);
  await await begun.promise;
  // Behind the purge of the first one, which had been on the list.
  await takeDowns.revoke({ ...nameOf(other) }, NEVER);
  stopping.abort();
  await running;
  expect([backend.blobs.size, state()]).toEqual([1, ['stored']]);
});

test('names that one source withholds are in force while the next one does not answer', async () => {
  const path = parseRecordPath(`audit/${'bb'.repeat(8)}/withheld/${BLOB.hashType}/${BLOB.versionHash}.json`);
  const document = { format: 1, ...nameOf(BLOB), reason: 'told to', at: '2026-01-01T00:00:00.000Z', revokedAt: null };
  const first: WithheldRecordStore = {
    id: 'folder',
    async *list() {
      yield { path, sizeBytes: 1 };
    },
    get: async () => Buffer.from(JSON.stringify(document)),
  };
  const asked = Promise.withResolvers<void>();
  const silent: WithheldRecordStore = {
    id: 'silent',
    async *list(_, signal) {
      asked.resolve();
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    get: async () => null,
  };
  const stopping = new AbortController();
  const { takeDowns, reading, state } = await scene([first, silent]);
  const refreshing = reading.refresh(stopping.signal);
  await asked.promise;
  expect(takeDowns.list().map(({ reason }) => reason)).toEqual(['told to']);
  expect(state()).toEqual(['seen']);
  stopping.abort();
  await expect(refreshing).rejects.toThrow();
});

test('a new catalog that took the record of an own take-down over keeps it in force, and a revoked one revoked', async () => {
  const own = 'aa'.repeat(8);
  const below = withheldPath(nameOf(BLOB));
  const document = { format: 1, ...nameOf(BLOB), reason: 'told to', at: '2026-01-01T00:00:00.000Z', revokedAt: null };
  const folder: WithheldRecordStore = {
    id: 'folder',
    async *list() {
      yield { path: parseRecordPath(`audit/${own}/${below}`), sizeBytes: 1 };
    },
    get: async () => Buffer.from(JSON.stringify(document)),
  };
  const { takeDowns, reading, catalog } = await scene([folder]);
  const revoked = JSON.stringify({ ...document, revokedAt: '2026-01-02T00:00:00.000Z' });
  catalog.losses.adoptEvidence([{ path: below, document: revoked }]);
  await reading.refresh(NEVER);
  expect(takeDowns.list()).toEqual([]);

  const { takeDowns: others, reading: otherReading, catalog: another } = await scene([folder]);
  another.losses.adoptEvidence([{ path: below, document: JSON.stringify(document) }]);
  await otherReading.refresh(NEVER);
  expect(others.list().map(({ archiver, reason }) => [archiver, reason])).toEqual([[own, 'told to']]);
});

test('a purge that is still due is taken over into a new catalog from the own evidence, and from no backend alone', async () => {
  const below = withheldPath(nameOf(BLOB));
  const at = '2026-01-01T00:00:00.000Z';
  const document = JSON.stringify({ format: 1, ...nameOf(BLOB), reason: 'told to', purge: true, at, revokedAt: null });
  const bucket: WithheldRecordStore = {
    id: 's3',
    async *list() {
      for (const archiver of ['aa', 'bb'])
        yield { path: parseRecordPath(`audit/${archiver.repeat(8)}/${below}`), sizeBytes: 1 };
    },
    get: async () => Buffer.from(document),
  };
  const { takeDowns, reading, catalog, backend } = await scene([bucket]);
  const purges = () => Object.fromEntries(takeDowns.list().map(({ archiver, purge }) => [archiver.slice(0, 2), purge]));
  await reading.refresh(NEVER);
  await takeDowns.purgeWhatIsLeft(NEVER);
  expect([purges(), backend.blobs.size]).toEqual([{ aa: false, bb: false }, 1]);
  catalog.losses.adoptEvidence([{ path: below, document }]);
  await reading.refresh(NEVER);
  await takeDowns.purgeWhatIsLeft(NEVER);
  expect([purges(), backend.blobs.size]).toEqual([{ aa: true, bb: false }, 0]);
});

test('a reason that another archiver publishes later is published here too', async () => {
  const { versionHash } = BLOB;
  const path = parseRecordPath(`audit/${'bb'.repeat(8)}/withheld/keccak256/${versionHash}.json`);
  let publicReason: string | undefined;
  const theirs: WithheldRecordStore = {
    id: 'theirs',
    async *list() {
      yield { path, sizeBytes: 1 };
    },
    get: async () => {
      const at = new Date(0).toISOString();
      const document = {
        format: 1,
        hashType: 'keccak256',
        versionHash,
        reason: 'r',
        publicReason,
        at,
        revokedAt: null,
      };
      return new TextEncoder().encode(JSON.stringify(document));
    },
  };
  const { reading, catalog } = await scene([theirs]);
  await reading.refresh(NEVER);
  expect([catalog.withheld.has(BLOB), catalog.withheld.publicReason(BLOB)]).toEqual([true, null]);
  publicReason = 'A court in X said so.';
  await reading.refresh(NEVER);
  expect(catalog.withheld.publicReason(BLOB)).toBe('A court in X said so.');
});

test('a blob that its author withholds no more is located at each place, and is stored again', async () => {
  const path = parseRecordPath(`audit/${'bb'.repeat(8)}/withheld/${BLOB.hashType}/${BLOB.versionHash}.json`);
  const document = { format: 1, ...nameOf(BLOB), reason: 'told to', at: '2026-01-01T00:00:00.000Z', revokedAt: null };
  let isSaid = true;
  const theirs: WithheldRecordStore = {
    id: 'theirs',
    async *list() {
      if (isSaid) yield { path, sizeBytes: 1 };
    },
    get: async () => Buffer.from(JSON.stringify(document)),
  };
  const { backend, reading, catalog, state } = await scene([theirs]);
  await reading.refresh(NEVER);
  expect([catalog.withheld.has(BLOB), reading.status.others, state()]).toEqual([true, ['bb'.repeat(8)], ['seen']]);
  isSaid = false;
  backend.asked.length = 0;
  await reading.refresh(NEVER);
  expect([catalog.withheld.has(BLOB), reading.status.others, state()]).toEqual([false, [], ['stored']]);
  expect(backend.asked).toEqual([`get ${BLOB.hashType}/${BLOB.versionHash}`]);
});

test.each([
  ['that a backend has without keeping it', { isPinned: false, isAdmitted: true }],
  ['at a backend that is not in use', { isPinned: true, isAdmitted: false }],
])('a copy %s is not located by a revocation', async (_where, { isPinned, isAdmitted }) => {
  const { backend, takeDowns, replication, store, state } = await scene();
  const [site] = replication.sites;
  if (site === undefined) throw new Error('There is no backend.');
  await takeDowns.withhold(nameOf(BLOB), { reason: 'told to', publicReason: null, purge: false }, NEVER);
  await store.delete(BLOB, NEVER);
  backend.isPinned = () => isPinned;
  site.isAdmitted = isAdmitted;
  replication.admit = async () => new Map();
  expect((await takeDowns.revoke(nameOf(BLOB), NEVER)).found).toEqual([]);
  expect([backend.blobs.size, state()]).toEqual([1, ['seen']]);
});

test('a copy that is being evicted is not located by a revocation', async () => {
  const { takeDowns, replication, catalog, store } = await scene();
  const how = { reason: 'told to', publicReason: null, purge: false };
  const remove = store.delete.bind(store);
  const revoking = new Promise<readonly string[]>((resolve, reject) => {
    store.delete = async (name, signal) => {
      await takeDowns.withhold(nameOf(BLOB), how, NEVER);
      takeDowns.revoke(nameOf(BLOB), NEVER).then(({ found }) => resolve(found), reject);
      // Time enough to read the copy, would the revocation wait for nothing.
      await moment(50);
      await remove(name, signal);
    };
  });
  expect(await replication.room.relieve(NEVER)).toBe(true);
  expect(await revoking).toEqual(['s3']);
  const [entry] = catalog.find(BLOB.versionHash);
  expect(entry !== undefined && catalog.replicas.cached.has(entry)).toBe(false);
});

test('a purge that was cut short behind its record is carried out by the next reading', async () => {
  const { backend, takeDowns, reading, catalog } = await scene();
  const killed = new AbortController();
  backend.before = (operation) => {
    if (operation !== 'delete') return;
    killed.abort();
    killed.signal.throwIfAborted();
  };
  const how = { reason: 'told to', publicReason: null, purge: true };
  await expect(takeDowns.withhold(nameOf(BLOB), how, killed.signal)).rejects.toThrow();
  expect([catalog.withheld.has(BLOB), backend.blobs.size]).toEqual([true, 1]);

  const purged = Promise.withResolvers<void>();
  backend.before = (operation) => {
    if (operation === 'delete') purged.resolve();
  };
  const stopping = new AbortController();
  const running = reading.run(stopping.signal);
  await purged.promise;
  await takeDowns.purgeWhatIsLeft(NEVER);
  stopping.abort();
  await running;
  expect(backend.blobs.size).toBe(0);
});

test('a copy that a check has read before it was purged is not called good after the revocation', async () => {
  const { backend, takeDowns, replication, spool, catalog, state, ...modules } = await scene();
  const other = sampleBlob('read for long', 100);
  await spool(other);
  await replication.drain(['s3'], NEVER);
  const isRead = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  backend.before = async (operation, name) => {
    if (operation !== 'get' || name?.versionHash !== other.versionHash) return;
    // The other copy was asked for before this one, and has been verified in a turn of the event loop.
    setImmediate(isRead.resolve);
    await goOn.promise;
  };
  const [site] = replication.sites;
  if (site === undefined) throw new Error('There is no backend.');
  const scrubbing = blobScrub(siteHolding(site), { catalog, ...modules }).slice(1, NEVER);
  await isRead.promise;
  await takeDowns.withhold(nameOf(BLOB), { reason: 'told to', publicReason: null, purge: true }, NEVER);
  await takeDowns.revoke(nameOf(BLOB), NEVER);
  goOn.resolve();
  expect(await scrubbing).toMatchObject({ read: 2, missing: 0, damaged: 0, fault: null });
  expect([backend.blobs.size, state()]).toEqual([1, ['seen']]);
  const placements = catalog.find(BLOB.versionHash).flatMap((entry) => catalog.placementsOf(entry));
  expect(placements).toMatchObject([{ backend: 's3', state: 'wanted' }]);
  expect(catalog.replicas.queued('s3')).toBe(1);
});

test('a copy that was purged during a search is not called damaged', async () => {
  const { takeDowns, damage, conditions } = await scene();
  await takeDowns.withhold(nameOf(BLOB), { reason: 'told to', publicReason: null, purge: true }, NEVER);
  damage.report('s3', BLOB);
  expect([conditions.has('damage'), damage.found.get('s3')]).toEqual([false, undefined]);
});

test('a backend that is told of already is not told of again for what it withholds', async () => {
  const gone = refusal('s3', 'storage/no-bucket');
  const records: WithheldRecordStore = {
    id: 's3',
    // biome-ignore lint/correctness/useYield: a bucket that is gone lists nothing.
    async *list() {
      throw gone;
    },
    get: async () => null,
  };
  const { reading, conditions } = await scene([records]);
  conditions.setError('backend:s3', gone, false);
  expect(await reading.refresh(NEVER)).toBe(false);
  expect([conditions.has('withheld'), conditions.all()]).toMatchObject([false, [{ code: 'storage/no-bucket' }]]);
  conditions.set('backend:s3', null);
  expect(await reading.refresh(NEVER)).toBe(false);
  expect(conditions.has('withheld')).toBe(true);
});
