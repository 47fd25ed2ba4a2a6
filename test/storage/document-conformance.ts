import { describe, expect, test } from 'vitest';
import {
  type ListedDocument,
  listBlobs,
  listDocuments,
  type MarkPath,
  readText,
} from '../../src/storage/object-store.ts';
import { parseRecordPath } from '../../src/storage/record-path.ts';
import { NEVER } from '../sample-blobs.ts';
import type { StoreUnderTest } from './object-store-conformance.ts';

const HASH = 'c'.repeat(64);
const occurrence = (height: number) =>
  parseRecordPath(`occurrences/keccak256/${HASH}/${height}-${'d'.repeat(64)}-0.json`);
const AUDIT = parseRecordPath('audit/archiver-1/lost/1.json');

/** The contract of every store for records and evidence. */
export function describeDocuments(open: () => Promise<StoreUnderTest>): void {
  describe('for documents', () => {
    test('gives back a document as it was put, and null for what it has not got', async () => {
      const { store } = await open();
      expect(await readText(store, AUDIT, NEVER)).toBeNull();
      await store.put({ path: AUDIT, text: '{"words":"größer ✓"}\n' }, 'replace', NEVER);
      expect(await readText(store, AUDIT, NEVER)).toBe('{"words":"größer ✓"}\n');
    });

    test('takes the same document twice, and another in its place', async () => {
      const { store } = await open();
      for (const document of ['{"a":1}', '{"a":1}', '{"a":22}']) {
        await store.put({ path: AUDIT, text: document }, 'replace', NEVER);
        expect(await readText(store, AUDIT, NEVER)).toBe(document);
      }
    });

    test('a put that creates leaves an existing document alone', async () => {
      const { store } = await open();
      for (const text of ['{"a":1}', '{"a":22}']) await store.put({ path: AUDIT, text }, 'create', NEVER);
      expect(await readText(store, AUDIT, NEVER)).toBe('{"a":1}');
    });

    test('takes a document of a megabyte', async () => {
      const { store } = await open();
      const document = JSON.stringify({ transaction: 'ab'.repeat(500_000) });
      await store.put({ path: AUDIT, text: document }, 'replace', NEVER);
      expect(await readText(store, AUDIT, NEVER)).toBe(document);
    });

    test('lists below a prefix, in the order of names, with sizes', async () => {
      const { store } = await open();
      for (const path of [occurrence(9), occurrence(10), AUDIT])
        await store.put({ path, text: '{}' }, 'replace', NEVER);
      const listed = async (prefix: string): Promise<ListedDocument[]> =>
        Array.fromAsync(listDocuments(store, prefix, NEVER));
      const expected = [occurrence(10), occurrence(9)].map((path) => ({ path, sizeBytes: 2 }));
      expect(await listed(`occurrences/keccak256/${HASH}/`)).toEqual(expected);
      expect(await listed('occurrences/')).toEqual(expected);
      expect(await listed('audit/')).toEqual([{ path: AUDIT, sizeBytes: 2 }]);
      expect(await listed(`occurrences/keccak256/${'e'.repeat(64)}/`)).toEqual([]);
    });

    test('deletes, and takes it calmly when nothing is there', async () => {
      const { store } = await open();
      await store.put({ path: AUDIT, text: '{}' }, 'replace', NEVER);
      await store.delete(AUDIT, NEVER);
      await store.delete(AUDIT, NEVER);
      expect(await readText(store, AUDIT, NEVER)).toBeNull();
    });

    test('an aborted call rejects with the reason of the signal', async () => {
      const { store } = await open();
      const reason = new Error('enough');
      const aborted = AbortSignal.abort(reason);
      await expect(store.put({ path: AUDIT, text: '{}' }, 'replace', aborted)).rejects.toBe(reason);
      await expect(readText(store, AUDIT, aborted)).rejects.toBe(reason);
      await expect(store.delete(AUDIT, aborted)).rejects.toBe(reason);
      await expect(Array.fromAsync(listDocuments(store, 'audit/', aborted))).rejects.toBe(reason);
      expect(await readText(store, AUDIT, NEVER)).toBeNull();
    });
  });
}

/** The contract of every store whose addresses can be told apart by marks. */
export function describeMarks(open: () => Promise<StoreUnderTest>): void {
  test('a mark is there until it is deleted, and is no blob', async () => {
    const { store } = await open();
    const path: MarkPath = `probe/place-${'ab'.repeat(16)}`;
    expect(await readText(store, path, NEVER)).toBeNull();
    await store.put({ path, text: path }, 'create', NEVER);
    expect([await readText(store, path, NEVER), await store.stat(path, NEVER)]).toEqual([
      path,
      { sizeBytes: path.length },
    ]);
    expect(await Array.fromAsync(listBlobs(store, NEVER))).toEqual([]);
    await store.delete(path, NEVER);
    expect(await readText(store, path, NEVER)).toBeNull();
  });
}
