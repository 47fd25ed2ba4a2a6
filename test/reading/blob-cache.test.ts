import { expect, test } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { nameOf, sampleBlob } from '../sample-blobs.ts';

test('a copy of a cached blob has memory of its own, which its verification detaches', () => {
  const sample = sampleBlob('held', 1_000);
  const bytes = Buffer.from(sample.bytes);
  const blob = verifyBlob({ ...nameOf(sample), bytes }, nobleHasher);
  if (blob === null) throw new Error('It hashes to its name.');
  const cache = new BlobCache(1_000_000, SYSTEM_CLOCK);
  cache.keep(blob);
  const copy = cache.copyOf(blob);
  expect(copy?.bytes.length).toBe(1_000);
  if (copy?.bytes.buffer instanceof ArrayBuffer) structuredClone(copy.bytes, { transfer: [copy.bytes.buffer] });
  expect(Buffer.from(cache.get({ ...nameOf(sample) })?.bytes ?? []).equals(bytes)).toBe(true);
  expect(bytes.length).toBe(1_000);
});

/** Answers that are prepared, or under way, until a test says so; those that were cut. */
function answers() {
  const cut: string[] = [];
  const prepared = (name: string) => {
    const [begun, done]: (() => void)[][] = [[], []];
    return {
      whenBegun: (then: () => void) => void begun?.push(then),
      whenSent: (then: () => void) => void done?.push(then),
      cut: () => void cut.push(name),
      begin: () => begun?.[0]?.(),
      end: () => done?.[0]?.(),
    };
  };
  const sending = (name: string) => ({ ...prepared(name), whenBegun: (then: () => void) => then() });
  return { cut, sending, prepared };
}

function keptIn(cache: BlobCache, label: string, sizeBytes = 100_000) {
  const blob = verifyBlob(sampleBlob(label, sizeBytes), nobleHasher);
  if (blob === null) throw new Error('It hashes to its name.');
  return { name: nameOf(blob), isKept: cache.keep(blob) === blob };
}

test('a lent blob stays until the answer is sent; any other makes room', () => {
  const cache = new BlobCache(300_000, SYSTEM_CLOCK);
  const { sending } = answers();
  const [a, b, c] = ['a', 'b', 'c'].map((label) => keptIn(cache, label).name);
  if (a === undefined || b === undefined || c === undefined) throw new Error('Three are kept.');
  const [toOne, toTwo] = [sending('one'), sending('two')];
  cache.lend(a, toOne);
  cache.lend(a, toTwo);
  cache.lend(b, sending('three'));
  expect(keptIn(cache, 'd').isKept).toBe(true);
  expect([a, b, c].map((name) => cache.get(name) !== null)).toEqual([true, true, false]);
  cache.lend(keptIn(cache, 'd').name, sending('four'));
  // All of it is lent: there is never more in memory than the cache may have.
  expect(keptIn(cache, 'e').isKept).toBe(false);
  toOne.end();
  expect(keptIn(cache, 'e').isKept).toBe(false);
  toTwo.end();
  expect(keptIn(cache, 'e').isKept).toBe(true);
  expect(cache.get(a)).toBe(null);
});

test('readers that have had their time lose what they were lent to what is to be kept, and only then', () => {
  let nowMs = 0;
  const cache = new BlobCache(200_000, { steadyMs: () => nowMs });
  const { cut, sending } = answers();
  cache.lend(keptIn(cache, 'a').name, sending('slow'));
  cache.lend(keptIn(cache, 'b').name, sending('slow too'));
  nowMs = 6_000;
  cache.lend(keptIn(cache, 'b').name, sending('new'));
  nowMs = 11_000;
  expect(cut).toEqual([]);
  expect(keptIn(cache, 'c').isKept).toBe(true);
  expect(cut).toEqual(['slow']);
  expect(keptIn(cache, 'd').isKept).toBe(true);
  expect(cut).toEqual(['slow']);
});

test('an answer that is still prepared keeps what it was lent for a minute; its reader has its time from when it begins', () => {
  let nowMs = 0;
  const cache = new BlobCache(200_000, { steadyMs: () => nowMs });
  const { cut, prepared } = answers();
  const [long, endless] = [prepared('long'), prepared('endless')];
  cache.lend(keptIn(cache, 'a').name, long);
  cache.lend(keptIn(cache, 'b').name, endless);
  nowMs = 11_000;
  expect(keptIn(cache, 'c').isKept).toBe(false);
  nowMs = 55_000;
  long.begin();
  nowMs = 61_000;
  expect(keptIn(cache, 'c').isKept).toBe(true);
  expect(cut).toEqual(['endless']);
  expect(keptIn(cache, 'd').isKept).toBe(true);
  expect(keptIn(cache, 'e').isKept).toBe(true);
  expect(cut).toEqual(['endless']);
  nowMs = 65_000;
  expect(keptIn(cache, 'f', 150_000).isKept).toBe(true);
  expect(cut).toEqual(['endless', 'long']);
});

test('no reader loses what it was lent, and nothing is dropped, for what has no room all the same', () => {
  let nowMs = 0;
  const cache = new BlobCache(300_000, { steadyMs: () => nowMs });
  const { cut, sending } = answers();
  const [a, b, c] = ['a', 'b', 'c'].map((label) => keptIn(cache, label).name);
  if (a === undefined || b === undefined || c === undefined) throw new Error('Three are kept.');
  cache.lend(a, sending('slow'));
  nowMs = 11_000;
  cache.lend(b, sending('new'));
  expect(keptIn(cache, 'd', 250_000).isKept).toBe(false);
  expect(cut).toEqual([]);
  expect([a, b, c].map((name) => cache.get(name) !== null)).toEqual([true, true, true]);
});

test('a cached blob stays as it is, so that it is never in memory twice', () => {
  const cache = new BlobCache(300_000, SYSTEM_CLOCK);
  expect(keptIn(cache, 'a').isKept).toBe(true);
  expect(keptIn(cache, 'a').isKept).toBe(false);
});
