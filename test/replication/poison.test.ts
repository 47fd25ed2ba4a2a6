import type { ServerResponse } from 'node:http';
import { setTimeout as elapse } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { BACKOFF, longestBackoffMs } from '../../src/core/time/backoff.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { recordStores } from '../../src/replication/archive-sources.ts';
import type { Backend } from '../../src/replication/backend.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { CopyWorker } from '../../src/replication/copy-worker.ts';
import { EvidenceCopies } from '../../src/replication/evidence-copies.ts';
import { s3Options } from '../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../src/storage/s3/s3-store.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { type Asked, misbehavingServer, object, s3Error } from '../storage/misbehaving-server.ts';
import { replicationScene } from './replication-scene.ts';

/** Delay of each answer: the pace is the server's then, and not that of the machine that runs the test. */
const LATENCY_MS = 5;
/** The work takes seconds of processor time, which a busy machine gives in minutes. */
const PATIENCE_MS = 300_000;
const LARGE_BYTES = 60_000;
/** Longer than the first rest of an object that a backend refuses. */
const REST_MS = longestBackoffMs({ ...BACKOFF.refused, maxMs: BACKOFF.refused.firstMs });
const HEALTHY = Array.from({ length: 400 }, (_, index) => sampleBlob(`healthy ${index}`, 1_000)).filter(
  isOutsidePrefix,
);
const OBJECTS = Array.from({ length: 30 }, (_, index) => sampleBlob(`lost ${index}`, 1_000)).filter(isOutsidePrefix);
const PREFIX = Array.from({ length: 300 }, (_, index) => sampleBlob(`below ${index}`, 1_000))
  .filter((blob) => !isOutsidePrefix(blob))
  .slice(0, 15);
const LARGE = Array.from({ length: 15 }, (_, index) => sampleBlob(`large ${index}`, LARGE_BYTES)).filter(
  isOutsidePrefix,
);

function isOutsidePrefix({ versionHash }: VerifiedBlob): boolean {
  return !versionHash.startsWith('0');
}

/** A bucket in memory; what it refuses, a test says. */
async function bucket() {
  const objects = new Map<string, Buffer>();
  /** The server has each of these, says so (412), and cannot read it from its own disks (500), as MinIO does. */
  const lost = new Set<string>();
  const refusing = { isOn: true };
  const answers = { count: 0 };
  const answer = (asked: Asked, response: ServerResponse) => {
    const { key, method, headers, body } = asked;
    const name = key.split('/').at(-1) ?? '';
    const isBlob = key.startsWith('blobs/');
    if (refusing.isOn && key.endsWith('/audits/refused.json')) return s3Error(response, 403, 'AccessDenied');
    if (refusing.isOn && isBlob && name.startsWith('0')) return s3Error(response, 403, 'AccessDenied');
    if (refusing.isOn && isBlob && method === 'PUT' && body.length >= LARGE_BYTES) return response.destroy();
    if (key.startsWith('?')) return emptyListing(response);
    if (method === 'PUT') {
      const isThere = objects.has(key) || lost.has(key);
      if (isThere && headers['if-none-match'] === '*') return s3Error(response, 412, 'PreconditionFailed');
      lost.delete(key);
      objects.set(key, body);
      response.writeHead(200, { etag: '"e1"', 'content-length': 0 });
      return response.end();
    }
    if (method === 'DELETE') {
      objects.delete(key);
      response.writeHead(204);
      return response.end();
    }
    if (lost.has(key)) return s3Error(response, 500, 'InternalError');
    const found = objects.get(key);
    return found === undefined ? s3Error(response, 404, 'NoSuchKey') : object(response, found);
  };
  const { endpoint } = await misbehavingServer((asked, response) => {
    void elapse(LATENCY_MS).then(() => {
      answers.count += 1;
      answer(asked, response);
    });
  });
  const options = s3Options({ bucket: 'b', endpoint, credentials: { accessKeyId: 'k', secretAccessKey: 's' } });
  const openAgain = () => S3Store.open(options);
  const store = await openAgain();
  onTestFinished(() => store.close());
  // The probe has five seconds by the machine's clock, and a rest that follows a late one never ends here.
  store.probe = () => S3Store.prototype.probe.call(store, NEVER);
  const backend: Backend = { id: 's3', place: endpoint, store, openAgain };
  return { backend, objects, lost, refusing, answers };
}

function emptyListing(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/xml' });
  response.end(
    '<?xml version="1.0"?><ListBucketResult><Name>b</Name><KeyCount>0</KeyCount><MaxKeys>1</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>',
  );
}

const keyOf = ({ hashType, versionHash }: VerifiedBlob) => `blobs/${hashType}/${versionHash}`;

/** An archive that has these, in this order, and brings them to a bucket from now on. */
async function bringing(blobs: readonly VerifiedBlob[]) {
  const made = await bucket();
  for (const blob of OBJECTS) made.lost.add(keyOf(blob));
  const scene = await replicationScene({ backends: [made.backend], requests: 8 });
  await scene.replication.admit(NEVER);
  for (const blob of blobs) await scene.spool(blob);
  scene.start();
  /** Makes due what has rested once. */
  const passRest = () => {
    scene.clock.wallMs += REST_MS;
    scene.clock.steadyMs += REST_MS;
    scene.catalog.replicas.changes(made.backend.id).notify();
  };
  /** `look` comes before each look; gives the number of answers until all were there. */
  const areThere = async (some: readonly VerifiedBlob[], look = () => {}, interval = 5) => {
    const allAreThere = () => {
      look();
      expect(some.filter((blob) => made.objects.has(keyOf(blob)))).toHaveLength(some.length);
    };
    await vi.waitFor(allAreThere, { timeout: PATIENCE_MS, interval });
    return made.answers.count;
  };
  return { ...made, ...scene, areThere, passRest };
}

test('blobs that a server cannot take or read keep none of the others: half of the quiet pace or better', {
  timeout: 3 * PATIENCE_MS,
}, async () => {
  const quiet = await bringing(HEALTHY);
  const alone = await quiet.areThere(HEALTHY);
  // The worst order: what cannot be brought comes first.
  const poisoned = await bringing([...OBJECTS, ...PREFIX, ...LARGE, ...HEALTHY]);
  const among = await poisoned.areThere(HEALTHY);
  // Each answer takes the server the same time. A pace by the clock would be that of the machine that runs the test.
  expect(among).toBeLessThan(2 * alone);
  // The clock stood still: no rest has ended, and so none held the others up.
  expect(OBJECTS.filter((blob) => poisoned.objects.has(keyOf(blob)))).toEqual([]);

  // One object: rests, is written again, and counts then.
  await poisoned.areThere(OBJECTS, poisoned.passRest, 100);
  // A prefix and a class of sizes: told, each with its number, while the backend is in use.
  const { replication, conditions } = poisoned;
  expect(replication.status()).toMatchObject([{ id: 's3', state: 'good' }]);
  await vi.waitFor(
    () => {
      poisoned.passRest();
      const told = conditions.all().filter(({ message }) => message.includes('cannot be brought to s3'));
      expect(told).toMatchObject([{ blocksReadiness: false }]);
      expect(told[0]?.message).toMatch(new RegExp(`^${PREFIX.length + LARGE.length} blobs `));
    },
    { timeout: PATIENCE_MS, interval: 100 },
  );
  expect([PREFIX, LARGE].flat().filter((blob) => poisoned.objects.has(keyOf(blob)))).toEqual([]);

  poisoned.refusing.isOn = false;
  poisoned.catalog.replicas.tryAgainNow();
  await poisoned.areThere([...PREFIX, ...LARGE], poisoned.passRest, 100);
  const all = HEALTHY.length + OBJECTS.length + PREFIX.length + LARGE.length;
  const isWhole = () => {
    expect(poisoned.catalog.totals()).toMatchObject({ stored: all });
    expect(conditions.all()).toEqual([]);
  };
  await vi.waitFor(isWhole, { timeout: PATIENCE_MS, interval: 25 });
});

test('a document that the server refuses keeps the bucket from none of the others, while a probe goes well', async () => {
  const { backend, objects, refusing } = await bucket();
  const site = new BackendHandle(
    backend,
    { verify: async (candidate) => verifyBlob(candidate, nobleHasher) },
    SYSTEM_CLOCK,
  );
  site.isAdmitted = true;
  const catalog = openCatalog();
  catalog.copies.useBackends(['s3']);
  for (const name of ['refused', 'b', 'c']) catalog.evidence.put(`audits/${name}.json`, { name });
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), Date.now);
  const records = recordStores([], [site]);
  const keeper = new EvidenceCopies('ab'.repeat(8), () => [], catalog, records, conditions);
  const worker = new CopyWorker(keeper, catalog, conditions);
  expect((await worker.deliverNow(NEVER)).get('s3')).toMatch(/audits\/refused\.json/);
  const there = () => [...objects.keys()].filter((key) => key.includes('/audits/')).length;
  expect([there(), keeper.status.waiting, site.isLeftAlone]).toEqual([2, { s3: 1 }, false]);
  expect(conditions.all()).toMatchObject([{ code: 'storage/denied', blocksReadiness: false }]);
  refusing.isOn = false;
  expect((await worker.deliverNow(NEVER)).size).toBe(0);
  expect([there(), keeper.status.waiting, conditions.all()]).toEqual([3, { s3: 0 }, []]);
});
