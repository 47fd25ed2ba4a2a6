import { describe, expect, test } from 'vitest';
import { parseRecordPath, type RecordEntry, type RecordStore } from '../../src/storage/record-store.ts';
import { NEVER } from '../sample-blobs.ts';

const HASH = 'c'.repeat(64);
const occurrence = (height: number) =>
  parseRecordPath(`occurrences/keccak256/${HASH}/${height}-${'d'.repeat(64)}-0.json`);
const AUDIT = parseRecordPath('audit/archiver-1/lost/1.json');

/** What every store of records must do. `create` gives an empty one. */
export function describeRecordStore(name: string, create: () => Promise<RecordStore>): void {
  describe(`${name} as a record store`, () => {
    test('gives back a document as it was put, and null for what it has not got', async () => {
      const store = await create();
      expect(await store.getRecord(AUDIT, NEVER)).toBeNull();
      await store.putRecord(AUDIT, '{"words":"größer ✓"}\n', NEVER);
      expect(await store.getRecord(AUDIT, NEVER)).toBe('{"words":"größer ✓"}\n');
    });

    test('takes the same document twice, and another in its place', async () => {
      const store = await create();
      for (const document of ['{"a":1}', '{"a":1}', '{"a":22}']) {
        await store.putRecord(AUDIT, document, NEVER);
        expect(await store.getRecord(AUDIT, NEVER)).toBe(document);
      }
    });

    test('takes a document of a megabyte', async () => {
      const store = await create();
      const document = JSON.stringify({ transaction: 'ab'.repeat(500_000) });
      await store.putRecord(AUDIT, document, NEVER);
      expect(await store.getRecord(AUDIT, NEVER)).toBe(document);
    });

    test('lists below a prefix, in the order of names, with sizes', async () => {
      const store = await create();
      for (const path of [occurrence(9), occurrence(10), AUDIT]) await store.putRecord(path, '{}', NEVER);
      const listed = async (prefix: string): Promise<RecordEntry[]> =>
        Array.fromAsync(store.listRecords(prefix, NEVER));
      const expected = [occurrence(10), occurrence(9)].map((path) => ({ path, sizeBytes: 2 }));
      expect(await listed(`occurrences/keccak256/${HASH}/`)).toEqual(expected);
      expect(await listed('occurrences/')).toEqual(expected);
      expect(await listed('audit/')).toEqual([{ path: AUDIT, sizeBytes: 2 }]);
      expect(await listed(`occurrences/keccak256/${'e'.repeat(64)}/`)).toEqual([]);
    });

    test('deletes, and takes it calmly when nothing is there', async () => {
      const store = await create();
      await store.putRecord(AUDIT, '{}', NEVER);
      await store.deleteRecord(AUDIT, NEVER);
      await store.deleteRecord(AUDIT, NEVER);
      expect(await store.getRecord(AUDIT, NEVER)).toBeNull();
    });

    test('an aborted call rejects with the reason of the signal', async () => {
      const store = await create();
      const reason = new Error('enough');
      const aborted = AbortSignal.abort(reason);
      await expect(store.putRecord(AUDIT, '{}', aborted)).rejects.toBe(reason);
      await expect(store.getRecord(AUDIT, aborted)).rejects.toBe(reason);
      await expect(store.deleteRecord(AUDIT, aborted)).rejects.toBe(reason);
      await expect(Array.fromAsync(store.listRecords('audit/', aborted))).rejects.toBe(reason);
      expect(await store.getRecord(AUDIT, NEVER)).toBeNull();
    });
  });
}
