import { describe, expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import type { CustomName, CustomStore } from '../../src/storage/custom-store.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';

const BYTES = sampleBytes('committed to by another hash', 3_000);
const FIRST = parseVersionHash('1a'.repeat(32));
const SECOND = parseVersionHash('2b'.repeat(32));

export function customName(versionHash: CustomName['versionHash'], bytes: Uint8Array): CustomName {
  return { versionHash, keccak: parseVersionHash(encodeHex(hashWith(nobleHasher, 'keccak256', bytes))) };
}

/** What every store of custom bytes must do. `create` gives an empty one, and a way to write over what lies there. */
export function describeCustomStore(
  name: string,
  create: () => Promise<{ store: CustomStore; damage: (name: CustomName, bytes: Uint8Array) => Promise<void> }>,
): void {
  const listed = async (store: CustomStore, versionHash: CustomName['versionHash'] | null) =>
    await Array.fromAsync(store.listCustom(versionHash, NEVER));

  describe(`${name} as a store of custom bytes`, () => {
    test('gives back bytes as they were put, and null for what it has not got', async () => {
      const { store } = await create();
      const one = customName(FIRST, BYTES);
      expect(await store.getCustom(one, NEVER)).toBeNull();
      await store.putCustom(one, BYTES, NEVER);
      await store.putCustom(one, BYTES, NEVER);
      expect(Buffer.from((await store.getCustom(one, NEVER)) ?? [])).toEqual(Buffer.from(BYTES));
    });

    test('lists all, or those of one version hash, in the order of names', async () => {
      const { store } = await create();
      expect(await listed(store, null)).toEqual([]);
      const others = [7, 8, 9].map((size) => sampleBytes('another', size));
      const entries = [
        ...others.map((bytes) => ({ ...customName(SECOND, bytes), sizeBytes: bytes.length })),
        { ...customName(FIRST, BYTES), sizeBytes: BYTES.length },
      ];
      for (const [index, entry] of entries.entries()) await store.putCustom(entry, others[index] ?? BYTES, NEVER);
      const order = (entry: CustomName) => `${entry.versionHash}/${entry.keccak}`;
      const sorted = entries.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
      expect(await listed(store, null)).toEqual(sorted);
      expect(await listed(store, FIRST)).toEqual(sorted.slice(0, 1));
      expect(await listed(store, parseVersionHash('3c'.repeat(32)))).toEqual([]);
    });

    test('copies what is damaged aside, replaces it, and lists no more than before', async () => {
      const { store, damage } = await create();
      const one = customName(FIRST, BYTES);
      expect(await store.setCustomAside(one, NEVER)).toBeNull();
      await store.putCustom(one, BYTES, NEVER);
      await damage(one, sampleBytes('rotten', 20));
      expect(await store.setCustomAside(one, NEVER)).toContain(`damaged/`);
      await store.putCustom(one, BYTES, NEVER);
      expect((await store.getCustom(one, NEVER))?.length).toBe(BYTES.length);
      expect(await listed(store, null)).toHaveLength(1);
    });

    test('purges all that lies under a version hash, and nothing else', async () => {
      const { store, damage } = await create();
      const [one, two] = [customName(FIRST, BYTES), customName(FIRST, sampleBytes('two', 50))];
      const other = customName(SECOND, BYTES);
      expect(await store.purgeCustom(FIRST, NEVER)).toBe(false);
      await store.putCustom(one, BYTES, NEVER);
      await store.putCustom(two, sampleBytes('two', 50), NEVER);
      await store.putCustom(other, BYTES, NEVER);
      await damage(one, sampleBytes('rotten', 20));
      await store.setCustomAside(one, NEVER);
      expect(await store.purgeCustom(FIRST, NEVER)).toBe(true);
      expect(await listed(store, FIRST)).toEqual([]);
      // What was set aside is gone as well: nothing is left that a second purge could find.
      expect(await store.purgeCustom(FIRST, NEVER)).toBe(false);
      expect(await listed(store, null)).toEqual([{ ...other, sizeBytes: BYTES.length }]);
    });

    test('an aborted call rejects with the reason of the signal', async () => {
      const { store } = await create();
      const reason = new Error('enough');
      const aborted = AbortSignal.abort(reason);
      const one = customName(FIRST, BYTES);
      await expect(store.putCustom(one, BYTES, aborted)).rejects.toBe(reason);
      await expect(store.getCustom(one, aborted)).rejects.toBe(reason);
      await expect(store.setCustomAside(one, aborted)).rejects.toBe(reason);
      await expect(store.purgeCustom(FIRST, aborted)).rejects.toBe(reason);
      await expect(Array.fromAsync(store.listCustom(null, aborted))).rejects.toBe(reason);
    });
  });
}
