import { randomFillSync } from 'node:crypto';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import type { Figure } from './figure.ts';

const ROUNDS = 7;

/** Does `work` for every item, with a bounded number under way. Milliseconds. */
export async function timed<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<number> {
  const left = [...items];
  const start = performance.now();
  const lane = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return performance.now() - start;
}

/**
 * The archive's speed as a share of the limit's: the median of rounds in which both had their turn, first one and then the
 * other, so that what else the machine does hits both. Each turn gives milliseconds for the same work.
 */
export async function shareOf(ours: () => Promise<number>, limit: () => Promise<number>): Promise<number> {
  const shares: number[] = [];
  await ours();
  await limit();
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round % 2 === 0) {
      const oursMs = await ours();
      shares.push((await limit()) / oursMs);
    } else {
      const limitMs = await limit();
      shares.push(limitMs / (await ours()));
    }
  }
  shares.sort((a, b) => a - b);
  return shares[shares.length >> 1] ?? Number.NaN;
}

/** Makes new random blobs before anything is measured, always in the same memory: what is left grows by the store. */
export async function blobMaker(count: number, sizeBytes: number): Promise<() => VerifiedBlob[]> {
  const make = await oneBlobMaker();
  const buffers = Array.from({ length: count }, () => new Uint8Array(sizeBytes));
  return () => buffers.map(make);
}

/** Makes one new random blob in the memory that it is given. */
export async function oneBlobMaker(): Promise<(buffer: Uint8Array) => VerifiedBlob> {
  const hasher = await createNodeHasher();
  return (buffer) => {
    const bytes = randomFillSync(buffer);
    const versionHash = parseVersionHash(encodeHex(hasher.keccak256(bytes)));
    const blob = verifyBlob({ versionHash, hashType: 'keccak256', bytes }, hasher);
    if (blob === null) throw new Error('A blob did not verify against its own hash.');
    return blob;
  };
}

const MEMORY_ROUNDS = 12;

/** Memory that the process holds after a while of 2 MiB blobs going in and out of one store, before anything else ran. */
export async function memoryOf(name: string, store: ObjectStore): Promise<Figure> {
  const { signal } = new AbortController();
  const newBlobs = await blobMaker(12, 2_097_152);
  let maxBytes = 0;
  for (let round = 0; round < MEMORY_ROUNDS; round += 1) {
    await timed(newBlobs(), 4, async (blob) => {
      await store.put(blob, 'replace', signal);
      await store.get(blob, signal);
    });
    maxBytes = Math.max(maxBytes, process.memoryUsage().rss);
  }
  return {
    name: `${name}: memory while putting and getting 2 MiB`,
    value: maxBytes / 2 ** 20,
    unit: 'MiB',
    most: 300,
  };
}
