import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LocalStore, ROW_LIMIT_BYTES } from '../../../src/storage/local/local-store.ts';
import { nobleHasher } from '../../../src/verify/hasher.ts';
import { RehashRule, type UnverifiedBlob, verifyBlob } from '../../../src/verify/verified-blob.ts';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const BLOB = sampleBlob('written and read', ROW_LIMIT_BYTES + 1);
const PERIOD_MS = 1_000;

/** A store with a blob that was just written, and the rule that was told so. */
async function written(options: { steadyMs?: () => number } = {}) {
  const folder = temporaryFolder();
  const store = await LocalStore.open(folder);
  onTestFinished(() => store.close());
  let hashed = 0;
  const verifier = {
    verify: async (blob: UnverifiedBlob) => {
      hashed += 1;
      return verifyBlob(blob, nobleHasher);
    },
  };
  const rule = new RehashRule(nobleHasher, { entries: 10, periodMs: PERIOD_MS, steadyMs: () => 0, ...options });
  const identity = await store.keep(BLOB, NEVER);
  if (identity !== null) rule.noteWritten(BLOB, identity);
  const path = join(folder, 'blobs', BLOB.hashType, BLOB.versionHash.slice(0, 2), BLOB.versionHash);
  const admitted = async () => {
    const copy = await store.copy(BLOB, NEVER);
    const before = hashed;
    const blob = copy === null ? null : await rule.admit(BLOB, copy.blob.bytes, copy.identity, verifier);
    return { blob, wasHashed: hashed > before };
  };
  return { path, admitted };
}

test('a file that this process wrote and that has not changed is sent without being hashed again', async () => {
  const { admitted } = await written();
  const { blob, wasHashed } = await admitted();
  expect(Buffer.from(blob?.bytes ?? []).equals(BLOB.bytes)).toBe(true);
  expect(wasHashed).toBe(false);
});

test('one that was written over is hashed and refused, also with its old times', async () => {
  const { path, admitted } = await written();
  const other = Buffer.from(BLOB.bytes);
  other[7] = (other[7] ?? 0) ^ 1;
  writeFileSync(path, other);
  utimesSync(path, 1, 1);
  expect(await admitted()).toEqual({ blob: null, wasHashed: true });
});

test('one that was only touched is hashed once, and then known again', async () => {
  const { path, admitted } = await written();
  utimesSync(path, 1, 1);
  expect(await admitted()).toMatchObject({ blob: { versionHash: BLOB.versionHash }, wasHashed: true });
  expect(await admitted()).toMatchObject({ blob: { versionHash: BLOB.versionHash }, wasHashed: false });
});

test('after the scrub period it is hashed again', async () => {
  let steadyMs = 0;
  const { admitted } = await written({ steadyMs: () => steadyMs });
  steadyMs = PERIOD_MS - 1;
  expect((await admitted()).wasHashed).toBe(false);
  steadyMs = PERIOD_MS;
  expect((await admitted()).wasHashed).toBe(true);
});
