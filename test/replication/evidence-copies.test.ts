import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { COPIED } from '../../src/catalog/copy-table.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { recordStores } from '../../src/replication/archive-sources.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { CopyWorker } from '../../src/replication/copy-worker.ts';
import { EvidenceCopies } from '../../src/replication/evidence-copies.ts';
import { StorageError } from '../../src/storage/errors.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import {
  keyOf,
  type NewObject,
  type ObjectKey,
  type ObjectStore,
  type PutMode,
  readText,
} from '../../src/storage/object-store.ts';
import type { ProbeFinding } from '../../src/storage/probe.ts';
import { parseRecordPath } from '../../src/storage/record-path.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { eventually } from '../e2e/eventually.ts';
import { realMs } from '../real-time.ts';
import { MemoryStore } from '../storage/memory-store.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ID = 'ab'.repeat(8);
const NEVER = new AbortController().signal;
const at = (path: string) => parseRecordPath(`audit/${ID}/${path}`);

/** A store in memory that tells what is written, and can be away. */
class WatchedStore extends MemoryStore {
  isAway = false;
  /** The store neither takes nor gives these, and takes others. */
  readonly poisoned = new Set<string>();
  /** Paths that the store acknowledges and keeps otherwise: as another text, or null, not at all. */
  readonly spoiled = new Map<string, string | null>();
  #tell = () => {};

  override async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    this.#tell();
    if (this.isAway) throw new StorageError('storage/unreachable', 'Away.', { retryable: true, hint: 'Wait.' });
    this.#refuse(keyOf(object));
    const spoiled = 'path' in object ? this.spoiled.get(object.path) : undefined;
    if (spoiled === undefined || !('path' in object)) await super.put(object, mode, signal);
    else if (spoiled !== null) await super.put({ ...object, text: spoiled }, mode, signal);
  }

  override async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return this.isAway ? [] : await super.probe(signal);
  }

  #refuse(key: ObjectKey): void {
    if (typeof key === 'string' && this.poisoned.has(key))
      throw new StorageError('storage/fault', 'Refused.', { retryable: true, hint: 'Look.' });
  }

  /** Resolves at the next attempt to write. */
  asked(): Promise<void> {
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  override async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    this.#refuse(key);
    return await super.get(key, signal);
  }
}

function keep(catalog: Catalog, stores: readonly ObjectStore[]) {
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const conditions = new ConditionBoard(createLogger('warn', { write: () => tell() }), Date.now);
  catalog.copies.useBackends(stores.map(({ id }) => id));
  const evidence = new EvidenceCopies(ID, () => [], catalog, stores, conditions);
  const worker = new CopyWorker(evidence, catalog, conditions);
  const stopping = new AbortController();
  const running = worker.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  onTestFinished(stop);
  const keeper = {
    get status() {
      return evidence.status;
    },
    deliverNow: (signal: AbortSignal) => worker.deliverNow(signal),
  };
  return { keeper, conditions, told, stop };
}

test('a backend that is away holds up no other, is told, and gets it when it is back', async () => {
  const catalog = openCatalog();
  const [local, bucket] = [new WatchedStore('local'), new WatchedStore('s3')];
  bucket.isAway = true;
  catalog.evidence.put('audits/1.json', { complete: true });
  const written = Promise.all([local.asked(), bucket.asked()]);
  const { keeper, conditions, told, stop } = keep(catalog, [local, bucket]);
  await Promise.all([written, told]);
  await eventually(() => expect(keeper.status.waiting).toEqual({ local: 0, s3: 1 }));
  await stop();
  expect(JSON.parse(local.documents.get(at('audits/1.json')) ?? '')).toEqual({ complete: true });
  expect(keeper.status).toEqual({ archiverId: ID, waiting: { local: 0, s3: 1 } });
  expect(conditions.all()).toMatchObject([{ code: 'storage/unreachable', blocksReadiness: false }]);

  bucket.isAway = false;
  const late = new WatchedStore('late');
  const again = Promise.all([bucket.asked(), late.asked()]);
  const second = keep(catalog, [local, bucket, late]);
  await again;
  await eventually(() => expect(second.keeper.status.waiting).toEqual({ local: 0, s3: 0, late: 0 }));
  await second.stop();
  for (const store of [bucket, late]) expect([...store.documents.keys()]).toEqual([at('audits/1.json')]);
  expect(second.keeper.status.waiting).toEqual({ local: 0, s3: 0, late: 0 });
});

test('a backend that is being let in is waited for, and one that is told of already is not told of again', async () => {
  const catalog = openCatalog();
  const bucket = new WatchedStore('s3');
  const openAgain = async () => bucket;
  const backend = { id: 's3', place: 'memory s3', store: bucket, openAgain };
  const site = new BackendHandle(backend, { verify: async () => null }, SYSTEM_CLOCK);
  const asking = vi.spyOn(site, 'admit');
  catalog.evidence.put('audits/1.json', { complete: true });
  const { conditions } = keep(catalog, recordStores([], [site]));
  await eventually(() => expect(asking).toHaveBeenCalled());
  expect([conditions.all(), bucket.documents.size]).toEqual([[], 0]);
  site.isAdmitted = true;
  await eventually(() => expect([...bucket.documents.keys()]).toEqual([at('audits/1.json')]));

  bucket.isAway = true;
  const away = new StorageError('storage/unreachable', 'Away.', { retryable: true, hint: 'Wait.' });
  conditions.setError('backend:s3', away, false);
  const asked = bucket.asked();
  catalog.evidence.put('audits/2.json', { complete: true });
  await asked;
  await moment(50);
  expect(conditions.has('chain:evidence:s3')).toBe(false);
  conditions.set('backend:s3', null);
  await eventually(() => expect(conditions.has('chain:evidence:s3')).toBe(true));
});

test('documents that come one by one share rounds, for each round looks through all that wait', async () => {
  const catalog = openCatalog();
  const bucket = new WatchedStore('s3');
  const looking = vi.spyOn(catalog.evidence, 'due');
  const begunMs = realMs();
  const { keeper } = keep(catalog, [bucket]);
  const count = 40;
  for (let each = 0; each < count; each += 1) {
    catalog.evidence.put(`audits/${each}.json`, { each });
    await moment(1);
  }
  await eventually(() => expect(keeper.status.waiting).toEqual({ s3: 0 }));
  expect(bucket.documents.size).toBe(count);
  // The first round begins at once, and each later one a second after the one before.
  const rounds = looking.mock.calls.filter(([, after]) => after === 0).length;
  expect(rounds).toBeLessThan(3 + (realMs() - begunMs) / 1_000);
});

test('a catalog that is made again takes over what the data folder holds, before anything is written', async () => {
  const folder = await LocalStore.open(temporaryFolder());
  await folder.put({ path: at('withheld/keccak256/x.json'), text: '{"reason":"kept"}' }, 'replace', NEVER);
  const catalog = openCatalog();
  const bucket = new WatchedStore('s3');
  const asked = bucket.asked();
  const { stop } = keep(catalog, [folder, bucket]);
  await asked;
  await stop();
  expect(catalog.evidence.find('withheld/keccak256/x.json')).toEqual({ reason: 'kept' });
  expect([...bucket.documents.keys()]).toEqual([at('withheld/keccak256/x.json')]);
});

test('an older state that is slow on its way does not arrive after a later one', async () => {
  const catalog = openCatalog();
  const store = new WatchedStore('local');
  const { put } = store;
  const asked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  store.put = async (object, ...rest) => {
    const isFirst = 'text' in object && object.text.includes('before');
    if (isFirst) asked.resolve();
    if (isFirst) await goOn.promise;
    await put.call(store, object, ...rest);
  };
  catalog.evidence.put('withheld/keccak256/x.json', { state: 'before' });
  const { keeper, stop } = keep(catalog, [store]);
  await asked.promise;
  catalog.evidence.put('withheld/keccak256/x.json', { state: 'after' });
  const delivering = keeper.deliverNow(NEVER);
  // Time enough to overtake it.
  await Promise.race([delivering, moment(100)]);
  goOn.resolve();
  await delivering;
  await stop();
  expect(JSON.parse(store.documents.get(at('withheld/keccak256/x.json')) ?? '')).toEqual({ state: 'after' });
  expect(keeper.status.waiting).toEqual({ local: 0 });
});

test('a document that a backend refuses keeps none of the others, is told, and counts as waiting over a restart', async () => {
  const catalog = openCatalog();
  const bucket = new WatchedStore('s3');
  bucket.poisoned.add(at('audits/2.json'));
  for (const name of ['1', '2', '3']) catalog.evidence.put(`audits/${name}.json`, { name });
  const first = keep(catalog, [bucket]);
  await first.told;
  await eventually(() => expect([...bucket.documents.keys()]).toEqual([at('audits/1.json'), at('audits/3.json')]));
  expect(first.conditions.all()).toMatchObject([{ code: 'storage/fault', blocksReadiness: false }]);
  expect(first.conditions.all()[0]?.message).toMatch(/refuses 1 records and takes others/);
  await eventually(() => expect(first.keeper.status.waiting).toEqual({ s3: 1 }));
  await first.stop();

  const { keeper, conditions, told } = keep(catalog, [bucket]);
  await told;
  expect(keeper.status.waiting).toEqual({ s3: 1 });
  catalog.evidence.put('audits/4.json', { name: '4' });
  expect((await keeper.deliverNow(NEVER)).get('s3')).toMatch(/audits\/2\.json/);
  expect(bucket.documents.has(at('audits/4.json'))).toBe(true);
  bucket.poisoned.clear();
  catalog.evidence.put('audits/2.json', { name: 'two, later' });
  expect((await keeper.deliverNow(NEVER)).size).toBe(0);
  expect(bucket.documents.get(at('audits/2.json'))).toContain('two, later');
  expect([keeper.status.waiting, conditions.all()]).toEqual([{ s3: 0 }, []]);
});

test('a document that the data folder does not give keeps a new catalog from none of the others, and is told', async () => {
  const local = new WatchedStore('local');
  for (const name of ['1', '2', '3']) local.objects.set(at(`audits/${name}.json`), Buffer.from(`{"name":"${name}"}`));
  local.poisoned.add(at('audits/2.json'));
  const catalog = openCatalog();
  const { conditions, told } = keep(catalog, [local]);
  await told;
  await eventually(() => expect(catalog.evidence.find('audits/3.json')).not.toBeNull());
  // A document that was not given is looked for again after the next start.
  expect(catalog.evidence.hasGiven('local')).toBe(false);
  expect(['1', '2', '3'].map((name) => catalog.evidence.find(`audits/${name}.json`) !== null)).toEqual([
    true,
    false,
    true,
  ]);
  expect(conditions.all()).toMatchObject([{ code: 'storage/fault' }]);
});

test('a folder that lies where a document should lie keeps the data folder from none of the others', async () => {
  const root = temporaryFolder();
  mkdirSync(join(root, at('audits/1.json')), { recursive: true });
  const folder = await LocalStore.open(root);
  const catalog = openCatalog();
  for (const name of ['1', '2']) catalog.evidence.put(`audits/${name}.json`, { name });
  const { keeper, conditions } = keep(catalog, [folder]);
  expect((await keeper.deliverNow(NEVER)).get('local')).toMatch(/audits\/1\.json/);
  expect(await readText(folder, at('audits/2.json'), NEVER)).toContain('2');
  expect([keeper.status.waiting, conditions.all()]).toMatchObject([{ local: 1 }, [{ code: 'storage/fault' }]]);
});

test('a document that a backend acknowledged and has not got, or gives otherwise, waits on, is told, and is put again', async () => {
  const catalog = openCatalog();
  const bucket = new WatchedStore('s3');
  bucket.spoiled.set(at('audits/1.json'), null).set(at('audits/2.json'), '{}');
  for (const name of ['1', '2', '3']) catalog.evidence.put(`audits/${name}.json`, { name });
  const { keeper, conditions, stop } = keep(catalog, [bucket]);
  await stop();
  expect((await keeper.deliverNow(NEVER)).get('s3')).toMatch(/audits\/1\.json/);
  expect(keeper.status.waiting).toEqual({ s3: 2 });
  expect(conditions.all()).toMatchObject([{ code: 'archive/not-kept', blocksReadiness: false }]);
  expect(conditions.all()[0]?.message).toMatch(/refuses 2 records and takes others/);
  const why = catalog.copies.refused(COPIED.evidence, 's3', 9);
  expect(why.map(({ code, message }) => [code, /gives something else|has not got it/.exec(message)?.[0]])).toEqual([
    ['archive/not-kept', 'has not got it'],
    ['archive/not-kept', 'gives something else'],
  ]);
  bucket.spoiled.clear();
  expect((await keeper.deliverNow(NEVER)).size).toBe(0);
  expect([keeper.status.waiting, conditions.all()]).toEqual([{ s3: 0 }, []]);
  expect(bucket.documents.get(at('audits/2.json'))).toContain('"2"');
});

test('a backend whose connection breaks off again and again gets all of it in the end', async () => {
  const catalog = openCatalog();
  const bucket = new WatchedStore('s3');
  const { put, get } = bucket;
  let asked = 0;
  const breaksOff = () => {
    asked += 1;
    if (asked % 23 === 0) throw new StorageError('storage/unreachable', 'Cut.', { retryable: true, hint: 'Wait.' });
  };
  bucket.put = async (...given) => {
    breaksOff();
    await put.apply(bucket, given);
  };
  bucket.get = async (...given) => {
    breaksOff();
    return await get.apply(bucket, given);
  };
  for (let index = 0; index < 40; index += 1) catalog.evidence.put(`audits/${index}.json`, { index });
  const { keeper, stop } = keep(catalog, [bucket]);
  await stop();
  for (let time = 0; time < 8; time += 1) await keeper.deliverNow(NEVER);
  expect([keeper.status.waiting, bucket.documents.size]).toEqual([{ s3: 0 }, 40]);
});
