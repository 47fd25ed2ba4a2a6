import { expect, onTestFinished, test } from 'vitest';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { WithheldSayings } from '../../src/reading/withhold/withheld-sayings.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import { Reindex } from '../../src/replication/reindex.ts';
import { reindexedSite } from '../../src/replication/reindexed-places.ts';
import { fault } from '../../src/storage/probe.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { Activity } from '../../src/view/activity.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';

const BLOBS = Array.from({ length: 40 }, (_, index) => sampleBlob(`adopted ${index}`, 50 + index));

function scene() {
  const backend = new MemoryBackend('s3');
  for (const blob of BLOBS) backend.blobs.set(keyOf(blob), blob.bytes);
  const catalog = openCatalog({ backends: ['local', 's3'] });
  const verifier = {
    verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, nobleHasher),
  };
  const site = new BackendHandle(backend, verifier, SYSTEM_CLOCK);
  site.isAdmitted = true;
  const custom = { adopt: async () => ({}) };
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 1);
  const damage = new DamageWatch(catalog, conditions, new Activity(), ['local', 's3']);
  const reindex = new Reindex(reindexedSite(site, catalog, damage), catalog, custom);
  return {
    backend,
    site,
    catalog,
    conditions,
    damage,
    unread: reindex.unread,
    adopt: (signal: AbortSignal = NEVER) => reindex.blobs(signal),
    again: () => reindex.again(NEVER),
    gets: () => backend.asked.splice(0).filter((asked) => asked.startsWith('get')),
  };
}

test('a walk goes on past objects that are not given, and retries them alone', async () => {
  const { backend, catalog, unread, adopt, again, gets } = scene();
  // More in a row than make a breaker open.
  const faulty = new Set(BLOBS.slice(3, 30).map(keyOf));
  backend.before = (operation, name) => {
    if (operation === 'get' && name !== null && faulty.has(keyOf(name))) throw refusal('s3', 'storage/archived');
  };
  expect(await adopt()).toEqual({ adopted: 13, damaged: 0, unread: 27 });
  expect(catalog.totals().stored).toBe(13);
  expect([...unread.keys()].toSorted()).toEqual([...faulty].toSorted());
  gets();
  faulty.clear();
  faulty.add(keyOf(BLOBS[5] ?? sampleBlob('', 0)));
  expect(await again()).toEqual({ adopted: 26, damaged: 0, unread: 1 });
  expect(gets()).toHaveLength(27);
  faulty.clear();
  expect(await again()).toMatchObject({ adopted: 1, unread: 0 });
  expect(catalog.totals().stored).toBe(40);
});

test('a blob that is purged and let in again after a walk has read it is read again', async () => {
  const { backend, catalog, damage, unread, adopt, again } = scene();
  const [blob, last] = [BLOBS[0], BLOBS.at(-1)];
  if (blob === undefined || last === undefined) throw new Error('There is no blob.');
  const order = { ...nameOf(blob), archiver: 'a', reason: 'told to', publicReason: null, atMs: 1, purge: true };
  const sayings = new WithheldSayings('a', catalog, damage);
  backend.before = (operation, name) => {
    if (operation !== 'get' || name?.versionHash !== last.versionHash) return;
    sayings.record([order], false);
    backend.blobs.delete(keyOf(blob));
    sayings.revoke([order], false, 2);
  };
  expect(await adopt()).toEqual({ adopted: 39, damaged: 0, unread: 1 });
  expect([catalog.totals().stored, [...unread.keys()], catalog.find(blob.versionHash)]).toEqual([
    39,
    [keyOf(blob)],
    [],
  ]);
  backend.before = () => {};
  expect(await again()).toEqual({ adopted: 0, damaged: 1, unread: 0 });
});

test('damaged copies that are whole again are damaged no more once a walk has found them', async () => {
  const { backend, catalog, conditions, damage, adopt } = scene();
  await adopt();
  const back = BLOBS.slice(0, 3);
  for (const blob of back) {
    backend.blobs.delete(keyOf(blob));
    damage.report('s3', blob);
  }
  expect([catalog.replicas.damagedCount('s3'), conditions.has('damage')]).toEqual([3, true]);
  for (const blob of back) backend.blobs.set(keyOf(blob), blob.bytes);
  expect(await adopt()).toMatchObject({ adopted: 3 });
  expect([catalog.replicas.damagedCount('s3'), conditions.has('damage')]).toEqual([0, false]);
});

test('copies of a backend that is found to be the place of another one during the walk do not count', async () => {
  const { backend, site, catalog, adopt } = scene();
  backend.before = (operation) => {
    if (operation === 'get') site.isAdmitted = false;
  };
  expect(await adopt()).toMatchObject({ adopted: 0 });
  expect(catalog.totals().stored).toBe(0);
});

test('a blob that was not given and is taken down meanwhile is not waited for', async () => {
  const { backend, catalog, unread, adopt, again, gets } = scene();
  const [blob] = BLOBS;
  if (blob === undefined) throw new Error('There is no blob.');
  backend.before = (operation, name) => {
    if (operation === 'get' && name !== null && keyOf(name) === keyOf(blob)) throw refusal('s3', 'storage/archived');
  };
  expect(await adopt()).toMatchObject({ unread: 1 });
  const { hashType, versionHash } = blob;
  const order = { archiver: 'me', publicReason: null, reason: 'an order', atMs: 1, purge: true };
  catalog.withheld.record([{ hashType, versionHash, ...order }], false);
  gets();
  expect(await again()).toEqual({ adopted: 0, damaged: 0, unread: 0 });
  expect([unread.size, gets()]).toEqual([0, []]);
});

test('a backend that is away ends it; what was read is kept, and what was not given is not asked for first', async () => {
  const { backend, catalog, unread, adopt, gets } = scene();
  let left = 20;
  backend.before = (operation) => {
    if (operation !== 'get') return;
    left -= 1;
    if (left < 0) throw refusal('s3');
  };
  backend.findings = [fault('reachable', 'It is away.', 'Wait.')];
  await expect(adopt()).rejects.toMatchObject({ code: 'storage/unreachable' });
  expect(catalog.totals().stored).toBe(20);
  const missed = unread.size;
  expect(missed).toBeGreaterThanOrEqual(8);
  backend.before = () => {};
  gets();
  expect(await adopt()).toMatchObject({ adopted: 20 - missed, unread: missed });
  expect(gets()).toHaveLength(20 - missed);
});

test('a listing that breaks off is gone on with: nothing is read twice, not even what was found damaged', async () => {
  const { backend, unread, adopt, gets } = scene();
  const [damaged, unreadable] = [BLOBS[1], BLOBS[2]].map((blob) => keyOf(blob ?? sampleBlob('', 0)));
  backend.blobs.set(damaged ?? '', new Uint8Array(3));
  backend.before = (operation, name) => {
    if (operation === 'get' && name !== null && keyOf(name) === unreadable) throw refusal('s3', 'storage/archived');
  };
  backend.breaksOffAfter = 20;
  await expect(adopt()).rejects.toMatchObject({ code: 'storage/unreachable' });
  expect(gets()).toHaveLength(20);
  expect([...unread.keys()]).toEqual([unreadable]);
  backend.breaksOffAfter = null;
  expect(await adopt()).toMatchObject({ adopted: 20, unread: 1 });
  // The damaged one has no row that says so: it alone is asked for again.
  expect(gets().filter((asked) => asked !== `get ${damaged}`)).toHaveLength(20);
});

test('a stop while the listing is waited for ends what is under way, and leaves no unhandled rejection', async () => {
  const { backend, adopt } = scene();
  const unheard: unknown[] = [];
  const hear = (error: unknown) => unheard.push(error);
  process.on('unhandledRejection', hear);
  onTestFinished(() => {
    process.off('unhandledRejection', hear);
  });
  const stopping = new AbortController();
  const asked = Promise.withResolvers<void>();
  let waiting = 0;
  backend.before = (operation, _, signal) => {
    if (operation !== 'get') return;
    waiting += 1;
    if (waiting === 3) asked.resolve();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  };
  const page = Promise.withResolvers<void>();
  backend.waitsAfter = { entries: 3, until: page.promise };
  const adopting = adopt(stopping.signal);
  await asked.promise;
  stopping.abort(new Error('it is stopped'));
  // Nothing that failed may be left alone until the next page comes.
  await new Promise((resolve) => setImmediate(resolve));
  page.resolve();
  await expect(adopting).rejects.toThrow('it is stopped');
  expect(unheard).toEqual([]);
});
