import { expect, onTestFinished, test, vi } from 'vitest';
import { good, warning } from '../../src/storage/probe.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const DURABILITY_DELAY_MS = 600_000;
const HOUR_MS = 3_600_000;
const BLOBS = Array.from({ length: 12 }, (_, index) => sampleBlob(`settles ${index}`, 1_000));
const ALL = BLOBS.length * 1_000;
const FIRST = BLOBS[0] ?? sampleBlob('', 0);

/** A full cache, and a Kubo that acknowledged all of it before its disk had it. */
async function full(blobs: readonly VerifiedBlob[] = BLOBS) {
  const kubo = new MemoryBackend('ipfs');
  kubo.findings = [...kubo.findings, warning('durable', 'It acknowledges before its disk has it.', 'Let it sync.')];
  const scene = await replicationScene({ backends: [kubo], budgetBytes: blobs.length * 1_000 });
  const { replication, clock, store } = scene;
  await replication.admit(NEVER);
  for (const blob of blobs) await scene.spool(blob);
  await replication.drain(['ipfs'], NEVER);
  kubo.asked.splice(0);
  return {
    ...scene,
    kubo,
    claim: (bytes = 1_000) => replication.room.claim(bytes, NEVER),
    pass: (milliseconds: number) => {
      clock.wallMs += milliseconds;
      clock.steadyMs += milliseconds;
    },
    gets: () => kubo.asked.splice(0).filter((asked) => asked.startsWith('get')),
    isHere: async (blob: VerifiedBlob) => (await store.stat(blob, NEVER)) !== null,
  };
}

test('a settled copy is read whole once more before the local copy goes', async () => {
  const { claim, pass, gets, isHere } = await full([FIRST]);
  pass(DURABILITY_DELAY_MS - 1);
  expect([await claim(), gets(), await isHere(FIRST)]).toEqual([false, [], true]);
  pass(1);
  expect([await claim(), gets(), await isHere(FIRST)]).toEqual([true, [`get ${keyOf(FIRST)}`], false]);
});

test.each(['gone', 'damaged'])(
  'a copy that is %s after the power failed is made again from here, which stays',
  async (how) => {
    const { claim, pass, gets, isHere, kubo, catalog, replication } = await full([FIRST]);
    if (how === 'gone') kubo.blobs.delete(keyOf(FIRST));
    else kubo.blobs.set(keyOf(FIRST), new Uint8Array(1_000));
    pass(DURABILITY_DELAY_MS);
    expect([await claim(), await isHere(FIRST)]).toEqual([false, true]);
    expect(catalog.totals()).toMatchObject({ stored: 0, spooled: 1 });
    gets();
    expect([await claim(), gets()]).toEqual([false, []]);
    await replication.drain(['ipfs'], NEVER);
    expect(Buffer.from(kubo.blobs.get(keyOf(FIRST)) ?? [])).toEqual(Buffer.from(FIRST.bytes));
    expect([await claim(), await isHere(FIRST)]).toEqual([false, true]);
    pass(DURABILITY_DELAY_MS);
    expect([await claim(), await isHere(FIRST)]).toEqual([true, false]);
  },
);

test('behind what is gone there, others are found that may go; each is asked for once', async () => {
  const { claim, pass, gets, isHere, kubo } = await full();
  const gone = BLOBS.slice(0, 9);
  for (const blob of gone) kubo.blobs.delete(keyOf(blob));
  pass(DURABILITY_DELAY_MS);
  expect(await claim()).toBe(true);
  expect(await Promise.all(BLOBS.map(isHere))).toEqual(BLOBS.map((blob) => gone.includes(blob)));
  // A copy that is not given is asked for on a fresh connection as well.
  expect(gets()).toHaveLength(2 * gone.length + 3);
  expect([await claim(ALL), gets()]).toEqual([false, []]);
});

test('nothing goes for one that does not answer, and it is not asked for each', async () => {
  const { claim, pass, gets, isHere, kubo } = await full();
  pass(DURABILITY_DELAY_MS);
  kubo.before = () => {
    throw refusal('ipfs');
  };
  expect(await claim()).toBe(false);
  // Once for what is stored, once for what is held: the same.
  expect(gets()).toEqual([`get ${keyOf(FIRST)}`, `get ${keyOf(FIRST)}`]);
  expect(await Promise.all(BLOBS.map(isHere))).not.toContain(false);
});

test('a copy that another backend keeps is asked for by name, and not read, before the local copy goes', async () => {
  const [kubo, s3] = [new MemoryBackend('ipfs'), new MemoryBackend('s3')];
  kubo.findings = [...kubo.findings, warning('durable', 'It acknowledges before its disk has it.', 'Let it sync.')];
  const { replication, spool, store, clock } = await replicationScene({ backends: [kubo, s3], budgetBytes: 1_000 });
  await replication.admit(NEVER);
  await spool(FIRST);
  await replication.drain(['ipfs', 's3'], NEVER);
  for (const backend of [kubo, s3]) backend.asked.splice(0);
  // A clock that was set back is no reason to keep it.
  clock.wallMs -= HOUR_MS;
  expect(await replication.room.claim(1_000, NEVER)).toBe(true);
  expect([kubo.asked, s3.asked, await store.stat(FIRST, NEVER)]).toEqual([[], [`stat ${keyOf(FIRST)}`], null]);
});

/** A full cache, and a bucket that holds all of it, read back. */
async function fullBesideBucket(ids: readonly string[] = ['s3'], replicasRequired = 1) {
  const buckets = ids.map((id) => new MemoryBackend(id));
  const budgetBytes = BLOBS.length * 1_000;
  const scene = await replicationScene({ backends: buckets, budgetBytes, replicasRequired });
  const { replication, store } = scene;
  await replication.admit(NEVER);
  for (const blob of BLOBS) await scene.spool(blob);
  await replication.drain(ids, NEVER);
  expect(scene.catalog.totals()).toMatchObject({ stored: BLOBS.length });
  for (const bucket of buckets) bucket.asked.splice(0);
  const here = async () => (await Promise.all(BLOBS.map((blob) => store.stat(blob, NEVER)))).filter(Boolean).length;
  return { ...scene, buckets, here, claim: (bytes = 1_000) => replication.room.claim(bytes, NEVER) };
}

/** The bucket was deleted, and the server says so. */
function deleteBucket(bucket: MemoryBackend | undefined) {
  bucket?.blobs.clear();
  if (bucket !== undefined) {
    bucket.before = () => {
      throw refusal(bucket.id, 'storage/no-bucket');
    };
  }
}

test('no local copy goes on the word of a bucket that is gone, known to be gone or not', async () => {
  const { buckets, claim, here, replication } = await fullBesideBucket();
  deleteBucket(buckets[0]);
  expect([await claim(), await here()]).toEqual([false, BLOBS.length]);
  for (let tries = 0; tries < 4; tries += 1) await claim();
  expect(replication.sites[0]?.isLeftAlone).toBe(true);
  buckets[0]?.asked.splice(0);
  expect([await claim(ALL), await here(), buckets[0]?.asked]).toEqual([false, BLOBS.length, []]);
});

test('a blob that a bucket answers it has not got stays here, and is brought there again', async () => {
  const { buckets, claim, here, catalog, replication } = await fullBesideBucket();
  buckets[0]?.blobs.clear();
  expect([await claim(), await here()]).toEqual([false, BLOBS.length]);
  expect(catalog.totals()).toMatchObject({ stored: 0, spooled: BLOBS.length });
  await replication.drain(['s3'], NEVER);
  expect([await claim(), await here()]).toEqual([true, 0]);
});

test('one bucket of two that is gone lets the other answer, and what is left is no spare copy', async () => {
  const { buckets, here, replication } = await fullBesideBucket(['s3:one', 's3:two'], 2);
  deleteBucket(buckets[0]);
  const site = replication.sites[0];
  for (let failures = 0; failures < 5; failures += 1) site?.breaker.failed(1_000_000);
  // Filling the cache with what was read needs no room at the price of a copy that is required.
  expect([await replication.room.claimSpare(1_000, NEVER), await here()]).toEqual([false, BLOBS.length]);
  expect(await replication.room.claim(1_000, NEVER)).toBe(true);
  expect(buckets[0]?.asked).toEqual([]);
  expect(buckets[1]?.asked).toHaveLength(BLOBS.length);
});

test('a backend that hangs keeps the local copies, is asked for one of them, and is left alone though it takes a probe', async () => {
  const { buckets, claim, here, replication } = await fullBesideBucket();
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  onTestFinished(() => timeout.mockRestore());
  const [bucket] = buckets;
  if (bucket === undefined) throw new Error('no bucket');
  bucket.findings = [good('readable', 'What is written is read back.')];
  bucket.before = (_, __, signal) => {
    late.abort(new DOMException('the time is up', 'TimeoutError'));
    signal.throwIfAborted();
  };
  let late = new AbortController();
  timeout.mockImplementation(() => {
    late = new AbortController();
    return late.signal;
  });
  expect([await claim(), await here()]).toEqual([false, BLOBS.length]);
  // Once for what is stored, once for what is held.
  const stat = `stat ${keyOf(FIRST)}`;
  expect(bucket.asked.splice(0)).toEqual([stat, stat]);
  for (let tries = 0; tries < 3; tries += 1) await claim();
  expect(bucket.asked).toEqual([stat, stat, stat]);
  const [site] = replication.sites;
  expect(site?.isLeftAlone).toBe(true);
  // The next caller is told the reason.
  expect(() => site?.admit()).toThrow('The s3 store at memory s3 did not say within 5 s whether it has a blob.');
});

test.each([DURABILITY_DELAY_MS, HOUR_MS, 48 * HOUR_MS])(
  'a wall clock that runs %i ms ahead makes nothing settle sooner',
  async (step) => {
    const { claim, pass, isHere, clock, gets } = await full([FIRST]);
    clock.wallMs += step;
    expect([await claim(), gets()]).toEqual([false, []]);
    pass(DURABILITY_DELAY_MS - 1);
    expect([await claim(), gets(), await isHere(FIRST)]).toEqual([false, [], true]);
    pass(1);
    expect([await claim(), await isHere(FIRST)]).toEqual([true, false]);
  },
);
