import { describe, expect, onTestFinished, test } from 'vitest';
import type { ObjectKey, ObjectKind, ObjectStore } from '../../src/storage/object-store.ts';
import { takesAndGives } from '../../src/storage/probe.ts';
import { NEVER } from '../sample-blobs.ts';
import { describeBlobs } from './blob-conformance.ts';
import { describeCustom } from './custom-conformance.ts';
import { describeDocuments, describeMarks } from './document-conformance.ts';

/** One store, empty, and a way to spoil what it holds behind its back. */
export interface StoreUnderTest {
  readonly store: ObjectStore;
  /** Puts these bytes in the place of what the store holds under that key. */
  overwrite(key: ObjectKey, bytes: Uint8Array): Promise<void>;
}

/**
 * The contract of every backend, for each kind of object that it holds. `create` gives an empty store; the test closes
 * it.
 */
export function describeObjectStore(
  name: string,
  holds: readonly ObjectKind[],
  create: () => Promise<StoreUnderTest>,
): void {
  const open = async () => {
    const made = await create();
    onTestFinished(() => made.store.close());
    return made;
  };
  describe(`conformance of ${name}`, () => {
    test('says which kinds it holds', async () => {
      expect([...(await open()).store.properties.holds].toSorted()).toEqual(holds.toSorted());
    });

    test('a probe tells that it takes and gives something new', async () => {
      expect(takesAndGives(await (await open()).store.probe(NEVER))).toBe(true);
    });

    test('says how much is free in whole bytes, or that it does not tell', async () => {
      const freeBytes = await (await open()).store.freeBytes(NEVER);
      expect(freeBytes === null || (Number.isSafeInteger(freeBytes) && freeBytes > 0)).toBe(true);
    });

    if (holds.includes('blob')) describeBlobs(open);
    if (holds.includes('custom')) describeCustom(open);
    if (holds.includes('record') && holds.includes('evidence')) describeDocuments(open);
    if (holds.includes('mark')) describeMarks(open);
  });
}
