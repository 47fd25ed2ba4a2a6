import { describe, expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { type CustomBytes, type CustomName, listCustom, type ObjectStore } from '../../src/storage/object-store.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';
import type { StoreUnderTest } from './object-store-conformance.ts';

const BYTES = sampleBytes('committed to by another hash', 3_000);
const FIRST = parseVersionHash('1a'.repeat(32));
const SECOND = parseVersionHash('2b'.repeat(32));

export function customName(versionHash: CustomName['versionHash'], bytes: Uint8Array): CustomName {
  return { versionHash, keccak: parseVersionHash(encodeHex(hashWith(nobleHasher, 'keccak256', bytes))) };
}

function custom(versionHash: CustomName['versionHash'], bytes: Uint8Array): CustomBytes {
  return { ...customName(versionHash, bytes), bytes };
}

/** The contract of every store for custom bytes. */
export function describeCustom(open: () => Promise<StoreUnderTest>): void {
  const listed = async (store: ObjectStore, versionHash: CustomName['versionHash'] | null) =>
    await Array.fromAsync(listCustom(store, versionHash, NEVER));

  describe('for custom bytes', () => {
    test('gives back bytes as they were put, and null for what it has not got', async () => {
      const { store } = await open();
      const one = customName(FIRST, BYTES);
      expect(await store.get(one, NEVER)).toBeNull();
      await store.put({ ...one, bytes: BYTES }, 'replace', NEVER);
      await store.put({ ...one, bytes: BYTES }, 'replace', NEVER);
      expect(Buffer.from((await store.get(one, NEVER)) ?? [])).toEqual(Buffer.from(BYTES));
    });

    test('lists all, or those of one version hash, in the order of names', async () => {
      const { store } = await open();
      expect(await listed(store, null)).toEqual([]);
      const others = [7, 8, 9].map((size) => sampleBytes('another', size));
      const entries = [
        ...others.map((bytes) => ({ ...customName(SECOND, bytes), sizeBytes: bytes.length })),
        { ...customName(FIRST, BYTES), sizeBytes: BYTES.length },
      ];
      for (const [index, entry] of entries.entries())
        await store.put({ ...entry, bytes: others[index] ?? BYTES }, 'replace', NEVER);
      const order = (entry: CustomName) => `${entry.versionHash}/${entry.keccak}`;
      const sorted = entries.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
      expect(await listed(store, null)).toEqual(sorted);
      expect(await listed(store, FIRST)).toEqual(sorted.slice(0, 1));
      expect(await listed(store, parseVersionHash('3c'.repeat(32)))).toEqual([]);
    });

    test('replaces what is damaged, and lists no more than before', async () => {
      const { store, overwrite } = await open();
      const one = customName(FIRST, BYTES);
      await store.put({ ...one, bytes: BYTES }, 'replace', NEVER);
      await overwrite(one, sampleBytes('rotten', 20));
      await store.put({ ...one, bytes: BYTES }, 'replace', NEVER);
      expect((await store.get(one, NEVER))?.length).toBe(BYTES.length);
      expect(await listed(store, null)).toHaveLength(1);
    });

    test('measures, deletes one and leaves the others, and creates only where nothing is', async () => {
      const { store } = await open();
      const [one, two] = [custom(FIRST, BYTES), custom(FIRST, sampleBytes('two', 50))];
      for (const each of [one, two, one]) await store.put(each, 'create', NEVER);
      expect(await store.stat(one, NEVER)).toEqual({ sizeBytes: BYTES.length });
      await store.delete(one, NEVER);
      await store.delete(one, NEVER);
      expect([await store.stat(one, NEVER), await store.get(one, NEVER)]).toEqual([null, null]);
      expect((await listed(store, null)).map(({ keccak }) => keccak)).toEqual([two.keccak]);
    });

    test('purges all that lies under a version hash, and nothing else', async () => {
      const { store, overwrite } = await open();
      const one = customName(FIRST, BYTES);
      const other = customName(SECOND, BYTES);
      expect(await store.purge({ customOf: FIRST }, NEVER)).toBe(false);
      await store.put({ ...one, bytes: BYTES }, 'replace', NEVER);
      await store.put(custom(FIRST, sampleBytes('two', 50)), 'replace', NEVER);
      await store.put({ ...other, bytes: BYTES }, 'replace', NEVER);
      await overwrite(one, sampleBytes('rotten', 20));
      await store.put({ ...one, bytes: BYTES }, 'replace', NEVER);
      expect(await store.purge({ customOf: FIRST }, NEVER)).toBe(true);
      expect(await listed(store, FIRST)).toEqual([]);
      // Copies set aside are gone as well: a second purge finds nothing.
      expect(await store.purge({ customOf: FIRST }, NEVER)).toBe(false);
      expect(await listed(store, null)).toEqual([{ ...other, sizeBytes: BYTES.length }]);
    });

    test('an aborted call rejects with the reason of the signal', async () => {
      const { store } = await open();
      const reason = new Error('enough');
      const aborted = AbortSignal.abort(reason);
      const one = customName(FIRST, BYTES);
      await expect(store.put({ ...one, bytes: BYTES }, 'replace', aborted)).rejects.toBe(reason);
      await expect(store.get(one, aborted)).rejects.toBe(reason);
      await expect(store.delete(one, aborted)).rejects.toBe(reason);
      await expect(store.purge({ customOf: FIRST }, aborted)).rejects.toBe(reason);
      await expect(Array.fromAsync(listCustom(store, null, aborted))).rejects.toBe(reason);
    });
  });
}
