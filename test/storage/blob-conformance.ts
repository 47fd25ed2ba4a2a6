import { describe, expect, test } from 'vitest';
import { HASH_TYPES } from '../../src/core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../src/core/blob/limits.ts';
import { type ListedBlob, listBlobs, type ObjectStore } from '../../src/storage/object-store.ts';
import { NEVER, nameOf, sampleBlob, sampleBytes } from '../sample-blobs.ts';
import type { StoreUnderTest } from './object-store-conformance.ts';

/** Both sides of where a store may change its way: rows and files, one part and several. */
const SIZES = [1, 2, 1_023, 65_535, 65_536, 65_537, 1_048_576, MAX_BLOB_BYTES];

async function entriesOf(store: ObjectStore): Promise<ListedBlob[]> {
  const entries: ListedBlob[] = [];
  for await (const entry of listBlobs(store, NEVER)) entries.push(entry);
  return entries.sort((a, b) => (a.versionHash < b.versionHash ? -1 : 1));
}

/** The contract of every store for blobs. */
export function describeBlobs(open: () => Promise<StoreUnderTest>): void {
  describe('for blobs', () => {
    for (const hashType of HASH_TYPES) {
      test.each(SIZES)(`gives back %i bytes under their ${hashType} name, and measures them`, async (sizeBytes) => {
        const { store } = await open();
        const blob = sampleBlob(`conformance ${sizeBytes}`, sizeBytes, hashType);
        await store.put(blob, 'replace', NEVER);
        const found = await store.get(nameOf(blob), NEVER);
        expect(Buffer.compare(found ?? new Uint8Array(), blob.bytes)).toBe(0);
        expect(await store.stat(nameOf(blob), NEVER)).toEqual({ sizeBytes });
      });
    }

    test('answers null, and nothing else, for what it has not got', async () => {
      const { store } = await open();
      const absent = nameOf(sampleBlob('never put', 10));
      expect(await store.get(absent, NEVER)).toBeNull();
      expect(await store.stat(absent, NEVER)).toBeNull();
    });

    test('keeps the two hash types apart: the same 32 bytes under the other type are another name', async () => {
      const { store } = await open();
      const blob = sampleBlob('one type', 100, 'keccak256');
      await store.put(blob, 'replace', NEVER);
      expect(await store.get({ hashType: 'blake2s256', versionHash: blob.versionHash }, NEVER)).toBeNull();
    });

    test('takes the same blob twice, and holds it once', async () => {
      const { store } = await open();
      for (const blob of [sampleBlob('twice', 100), sampleBlob('twice large', 100_000)]) {
        await store.put(blob, 'replace', NEVER);
        await store.put(blob, 'replace', NEVER);
        expect((await store.get(nameOf(blob), NEVER))?.length).toBe(blob.bytes.length);
      }
      expect(await entriesOf(store)).toHaveLength(2);
    });

    test.each([100, 100_000])('a put of %i bytes replaces what was damaged meanwhile', async (sizeBytes) => {
      const { store, overwrite } = await open();
      const blob = sampleBlob('damaged', sizeBytes);
      await store.put(blob, 'replace', NEVER);
      await overwrite(nameOf(blob), sampleBytes('rot', sizeBytes));
      expect(Buffer.compare((await store.get(nameOf(blob), NEVER)) ?? blob.bytes, blob.bytes)).not.toBe(0);
      await store.put(blob, 'replace', NEVER);
      const found = await store.get(nameOf(blob), NEVER);
      expect(Buffer.compare(found ?? new Uint8Array(), blob.bytes)).toBe(0);
    });

    test('a put that creates leaves an existing object alone, and writes where there is none', async () => {
      const { store } = await open();
      const blob = sampleBlob('created', 100);
      for (let times = 0; times < 2; times += 1) await store.put(blob, 'create', NEVER);
      expect(await store.stat(nameOf(blob), NEVER)).toEqual({ sizeBytes: 100 });
    });

    test('purges what is there, and says whether there was anything', async () => {
      const { store, overwrite } = await open();
      for (const sizeBytes of [100, 100_000]) {
        const blob = sampleBlob('purged', sizeBytes);
        await store.put(blob, 'replace', NEVER);
        await overwrite(nameOf(blob), sampleBytes('rot', sizeBytes));
        await store.put(blob, 'replace', NEVER);
        expect(await store.purge(nameOf(blob), NEVER)).toBe(true);
        expect(await store.get(nameOf(blob), NEVER)).toBeNull();
        // Copies set aside are gone as well: a second purge finds nothing.
        expect(await store.purge(nameOf(blob), NEVER)).toBe(false);
      }
    });

    test.each([100, 100_000])('a put of %i bytes replaces what was cut short meanwhile', async (sizeBytes) => {
      const { store, overwrite } = await open();
      const blob = sampleBlob('cut', sizeBytes);
      await store.put(blob, 'replace', NEVER);
      await overwrite(nameOf(blob), blob.bytes.subarray(0, 10));
      expect((await store.stat(nameOf(blob), NEVER))?.sizeBytes).toBe(10);
      await store.put(blob, 'replace', NEVER);
      expect((await store.get(nameOf(blob), NEVER))?.length).toBe(sizeBytes);
    });

    test('lists everything it holds, with sizes where its listing has any, and nothing else', async () => {
      const { store } = await open();
      expect(await entriesOf(store)).toEqual([]);
      const blobs = [1, 500, 65_536, 65_537, 200_000].flatMap((sizeBytes) =>
        HASH_TYPES.map((hashType) => sampleBlob(`listed ${sizeBytes}`, sizeBytes, hashType)),
      );
      for (const blob of blobs) await store.put(blob, 'replace', NEVER);
      const expected = blobs
        .map((blob) => ({ ...nameOf(blob), sizeBytes: blob.bytes.length }))
        .sort((a, b) => (a.versionHash < b.versionHash ? -1 : 1));
      const listed = await entriesOf(store);
      const hasSizes = listed.every(({ sizeBytes }) => sizeBytes !== null);
      expect(listed).toEqual(hasSizes ? expected : expected.map((entry) => ({ ...entry, sizeBytes: null })));
    });

    test('deletes what it is told to, and takes it calmly when that is not there', async () => {
      const { store } = await open();
      const kept = sampleBlob('kept', 70_000);
      for (const blob of [sampleBlob('gone', 100), sampleBlob('gone', 70_001)]) {
        await store.put(blob, 'replace', NEVER);
        await store.delete(nameOf(blob), NEVER);
        await store.delete(nameOf(blob), NEVER);
        expect(await store.get(nameOf(blob), NEVER)).toBeNull();
      }
      await store.put(kept, 'replace', NEVER);
      expect((await entriesOf(store)).map((entry) => entry.versionHash)).toEqual([kept.versionHash]);
    });

    test('puts that run at the same time all arrive, also two of the same blob', async () => {
      const { store } = await open();
      const blobs = Array.from({ length: 24 }, (_, index) =>
        sampleBlob(`concurrent ${index}`, index % 3 === 0 ? 70_000 + index : 100 + index),
      );
      await Promise.all([...blobs, ...blobs].map((blob) => store.put(blob, 'replace', NEVER)));
      for (const blob of blobs) {
        const found = await store.get(nameOf(blob), NEVER);
        expect(Buffer.compare(found ?? new Uint8Array(), blob.bytes)).toBe(0);
      }
      expect(await entriesOf(store)).toHaveLength(blobs.length);
    });

    test('gives bytes of its own: who changes them changes nothing here', async () => {
      const { store } = await open();
      for (const blob of [sampleBlob('own', 100), sampleBlob('own', 70_000)]) {
        await store.put(blob, 'replace', NEVER);
        (await store.get(nameOf(blob), NEVER))?.fill(0);
        const again = await store.get(nameOf(blob), NEVER);
        expect(Buffer.compare(again ?? new Uint8Array(), blob.bytes)).toBe(0);
      }
    });

    describeAborts(open);
  });
}

function describeAborts(open: () => Promise<StoreUnderTest>): void {
  const reason = new Error('the caller had enough');

  test('an aborted call does nothing, and rejects with the reason of the signal', async () => {
    const { store } = await open();
    const blob = sampleBlob('aborted', 100);
    const aborted = AbortSignal.abort(reason);
    await expect(store.put(blob, 'replace', aborted)).rejects.toBe(reason);
    await expect(store.get(nameOf(blob), aborted)).rejects.toBe(reason);
    await expect(store.stat(nameOf(blob), aborted)).rejects.toBe(reason);
    await expect(store.delete(nameOf(blob), aborted)).rejects.toBe(reason);
    await expect(store.purge(nameOf(blob), aborted)).rejects.toBe(reason);
    expect(await entriesOf(store)).toEqual([]);
  });

  test('a get that is aborted in the middle rejects with the reason, and is no fault of the store', async () => {
    const { store } = await open();
    const blob = sampleBlob('aborted in the middle', MAX_BLOB_BYTES);
    await store.put(blob, 'replace', NEVER);
    const stopping = new AbortController();
    const getting = store.get(nameOf(blob), stopping.signal);
    stopping.abort(reason);
    // A store that has the bytes already may give them: what it may not do is call the abort a fault.
    await expect(getting.catch((error: unknown) => error)).resolves.toSatisfy(
      (outcome) => outcome === reason || outcome instanceof Uint8Array,
    );
  });

  test('a listing ends with the reason when it is aborted between two entries', async () => {
    const { store } = await open();
    for (const sizeBytes of [10, 11, 70_000, 70_001]) await store.put(sampleBlob('few', sizeBytes), 'replace', NEVER);
    const stopping = new AbortController();
    const shown: ListedBlob[] = [];
    const listing = async () => {
      for await (const entry of listBlobs(store, stopping.signal)) {
        shown.push(entry);
        stopping.abort(reason);
      }
    };
    await expect(listing()).rejects.toBe(reason);
    expect(shown).toHaveLength(1);
  });
}
