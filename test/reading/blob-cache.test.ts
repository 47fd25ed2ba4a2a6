import { expect, test } from 'vitest';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { nameOf, sampleBlob } from '../sample-blobs.ts';

test('a copy of what memory holds has memory of its own: whoever verifies it gives that away', () => {
  const sample = sampleBlob('held', 1_000);
  const bytes = Buffer.from(sample.bytes);
  const blob = verifyBlob({ ...nameOf(sample), bytes }, nobleHasher);
  if (blob === null) throw new Error('It hashes to its name.');
  const cache = new BlobCache(1_000_000);
  cache.keep(blob);
  const copy = cache.copyOf(blob);
  expect(copy?.bytes.length).toBe(1_000);
  if (copy?.bytes.buffer instanceof ArrayBuffer) structuredClone(copy.bytes, { transfer: [copy.bytes.buffer] });
  expect(Buffer.from(cache.get({ ...nameOf(sample) })?.bytes ?? []).equals(bytes)).toBe(true);
  expect(bytes.length).toBe(1_000);
});
