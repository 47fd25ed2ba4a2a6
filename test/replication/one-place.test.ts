import { expect, onTestFinished, test } from 'vitest';
import type { Backend } from '../../src/replication/backend.ts';
import {
  BINDING,
  type NewObject,
  type ObjectKey,
  type PutMode,
  type StoreProperties,
} from '../../src/storage/object-store.ts';
import { s3Options } from '../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../src/storage/s3/s3-store.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { misbehavingServer, object, s3Error } from '../storage/misbehaving-server.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const BLOB = sampleBlob('once', 1_000);

/** A server that keeps what is put, each prefix apart, and answers under two addresses. */
async function server() {
  const objects = new Map<string, Buffer>();
  const { endpoint } = await misbehavingServer(({ method, key, headers, body }, response) => {
    if (key.startsWith('?')) {
      response.writeHead(200, { 'content-type': 'application/xml' });
      return response.end(
        '<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>',
      );
    }
    if (method === 'DELETE') {
      objects.delete(key);
      return response.writeHead(204).end();
    }
    const found = objects.get(key);
    if (method !== 'PUT') return found === undefined ? s3Error(response, 404, 'NoSuchKey') : object(response, found);
    if (found !== undefined && headers['if-none-match'] === '*') return s3Error(response, 412, 'PreconditionFailed');
    objects.set(key, body);
    return response.writeHead(200, { etag: '"e"', 'content-length': 0 }).end();
  });
  const backend = async (id: string, host: string, prefix: string): Promise<Backend> => {
    const options = s3Options({
      id,
      bucket: 'b',
      prefix,
      endpoint: endpoint.replace('127.0.0.1', host),
      credentials: { accessKeyId: 'k', secretAccessKey: 's' },
    });
    const store = await S3Store.open(options);
    onTestFinished(() => store.close());
    return { id, place: options.endpoint ?? '', store, openAgain: () => S3Store.open(options) };
  };
  return { objects, backend };
}

test('one bucket under two addresses counts once: the second address is not used, and that is told', async () => {
  const { objects, backend } = await server();
  const backends = [await backend('s3:one', '127.0.0.1', 'same'), await backend('s3:two', 'localhost', 'same')];
  const { replication, catalog, conditions, spool } = await replicationScene({ backends, replicasRequired: 2 });
  await spool(BLOB);
  // A run that did not know of it has proven the blob through both.
  const entries = catalog.find(BLOB.versionHash);
  for (const { id } of backends) catalog.recordProven(id, entries);
  expect(catalog.totals()).toMatchObject({ stored: 1 });

  const faults = await replication.admit(NEVER);
  expect([...faults.values()]).toMatchObject([expect.stringContaining('is the same place as')]);
  expect(replication.sites.filter(({ isAdmitted }) => isAdmitted)).toHaveLength(1);
  expect(catalog.totals()).toMatchObject({ stored: 0, spooled: 1 });
  expect(conditions.all().map(({ code }) => code)).toEqual(['storage/same-place']);
  await replication.drain(['s3:one', 's3:two'], NEVER);
  expect(catalog.totals()).toMatchObject({ stored: 0, spooled: 1 });
  expect([...objects.keys()].filter((key) => key.includes('probe/'))).toEqual([]);
});

test('a new catalog is whole without the second address: nothing waits for a backend that is never used', async () => {
  const { backend } = await server();
  const backends = [await backend('s3:one', '127.0.0.1', 'same'), await backend('s3:two', 'localhost', 'same')];
  const scene = await replicationScene({ backends });
  const { catalogRebuild } = scene;
  await scene.replication.admit(NEVER);
  await catalogRebuild.adoptBackends(NEVER);
  expect([catalogRebuild.isDone, scene.catalog.isRebuilt(), scene.conditions.has('rebuild')]).toEqual([
    true,
    true,
    false,
  ]);
});

test('nothing waits for a second address that a walk has begun to read and that is displaced meanwhile', async () => {
  const second = new MemoryBackend('s3:two');
  second.blobs.set(keyOf(BLOB), BLOB.bytes);
  const { replication, catalogRebuild, catalog, conditions } = await replicationScene({ backends: [second] });
  await replication.admit(NEVER);
  const [site] = replication.sites;
  if (site === undefined) throw new Error('There is one.');
  second.before = (operation) => {
    if (operation !== 'get') return;
    site.isAdmitted = false;
    site.twinOf = 's3:one';
  };
  // The time ends only a walk that waits for the second address.
  await catalogRebuild.adoptBackends(AbortSignal.timeout(120_000));
  expect(second.asked).toContain(`get ${keyOf(BLOB)}`);
  expect([catalog.isRebuilt(), conditions.has('rebuild'), catalog.totals().stored]).toEqual([true, false, 0]);
});

test('the address through which the copies were proven stays in use, also when the other is let in first', async () => {
  const { backend } = await server();
  const one = await backend('s3:one', '127.0.0.1', 'same');
  const two = await backend('s3:two', 'localhost', 'same');
  const { replication, catalog, conditions, spool, store } = await replicationScene({ backends: [one, two] });
  await spool(BLOB);
  const entries = catalog.find(BLOB.versionHash);
  catalog.recordProven('s3:one', entries);
  // The cache has let it go on the word of the first address.
  catalog.replicas.cached.recordEvicted(entries.map((entry) => ({ entry, backend: 's3:one' })));
  await store.delete(BLOB, NEVER);
  const [first, second] = replication.sites;
  if (first === undefined || second === undefined) throw new Error('There are two.');
  second.isAdmitted = true;
  expect(await replication.admit(NEVER)).toEqual(new Map());
  expect([first.isAdmitted, second.isAdmitted]).toEqual([true, false]);
  expect([first.twinOf, second.twinOf]).toEqual([null, 's3:one']);
  expect(catalog.totals()).toMatchObject({ seen: 0, stored: 1 });
  expect(conditions.all().map(({ code }) => code)).toEqual(['storage/same-place']);
});

test('two prefixes of one bucket are two places', async () => {
  const { backend } = await server();
  const backends = [await backend('s3:one', '127.0.0.1', 'one'), await backend('s3:two', 'localhost', 'two')];
  const { replication, catalog, spool } = await replicationScene({ backends, replicasRequired: 2 });
  expect(await replication.admit(NEVER)).toEqual(new Map());
  await spool(BLOB);
  await replication.drain(['s3:one', 's3:two'], NEVER);
  expect(catalog.totals()).toMatchObject({ stored: 1 });
});

test('a bucket that went away keeps no Kubo out: they are never one place', async () => {
  const bucket = new MarkedBackend('s3:one', false);
  const kubo = new MarkedBackend('ipfs', true);
  const { replication, catalog, spool } = await replicationScene({ backends: [bucket, kubo] });
  kubo.before = () => {
    throw refusal('a');
  };
  expect([...(await replication.admit(NEVER)).keys()]).toEqual(['ipfs']);

  bucket.before = kubo.before;
  kubo.before = () => {};
  expect([...(await replication.admit(NEVER)).keys()]).toEqual(['s3:one']);
  await spool(BLOB);
  await replication.drain(['ipfs'], NEVER);
  expect(catalog.totals()).toMatchObject({ stored: 1 });
});

test('a bucket that is kept out by another one that went away says which one that is', async () => {
  const [away, healthy] = [new MarkedBackend('s3:one', false), new MarkedBackend('s3:two', false)];
  const { replication, conditions } = await replicationScene({ backends: [away, healthy] });
  healthy.before = () => {
    throw refusal('s3:two');
  };
  expect([...(await replication.admit(NEVER)).keys()]).toEqual(['s3:two']);
  healthy.before = () => {};
  away.before = () => {
    throw refusal('s3:one');
  };
  await replication.admit(NEVER);
  const told = () => conditions.standing().find(({ subject }) => subject === 'backend:s3:two');
  expect(told()).toMatchObject({ code: 'storage/unreachable', hint: expect.stringContaining('Repair s3:one') });
  expect(told()?.message).toMatch(/^The s3:two store is not used yet: s3:one, .* The s3:one store refuses\.$/);
  away.before = () => {};
  expect(await replication.admit(NEVER)).toEqual(new Map());
  expect(told()).toBe(undefined);
});

/** A backend in memory that takes marks, as a bucket does or as a Kubo does, and keeps none. */
class MarkedBackend extends MemoryBackend {
  readonly #pins: boolean;

  constructor(id: string, pins: boolean) {
    super(id);
    this.#pins = pins;
  }

  override get properties(): StoreProperties {
    return { ...super.properties, holds: new Set(['blob', 'binding', 'mark'] as const), pins: this.#pins };
  }

  override async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    if ('path' in object && object.path !== BINDING) return await this.before('put', null, signal);
    await super.put(object, mode, signal);
  }

  override async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    if (typeof key !== 'string' || key === BINDING) return await super.get(key, signal);
    await this.before('get', null, signal);
    return null;
  }

  override async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    if (typeof key !== 'string') await super.delete(key, signal);
  }
}
