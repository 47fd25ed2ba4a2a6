import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ProvenFiles } from '../../src/reading/proven-files.ts';
import { ROW_LIMIT_BYTES } from '../../src/storage/local/local-store.ts';
import type { Withheld } from '../../src/view/archive-view.ts';
import { replicationScene } from '../replication/replication-scene.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

const PART_BYTES = ROW_LIMIT_BYTES;
const blob = sampleBlob('under way to a slow reader', 2 * PART_BYTES);

/** A file of which the first of two parts was read. */
async function halfSent() {
  const { store, rehash, spool } = await replicationScene({ backends: [], mode: 'keep' });
  await spool(blob);
  let refusal: Withheld | null = null;
  const file = await new ProvenFiles(store, rehash, { refusal: () => refusal }).open(nameOf(blob), NEVER);
  if (file === null) throw new Error('the file is not proven');
  onTestFinished(() => file.close());
  await file.read(new Uint8Array(PART_BYTES), 0);
  const rest = async () => {
    const part = new Uint8Array(PART_BYTES);
    await file.read(part, PART_BYTES);
    return part;
  };
  const withhold = () => {
    refusal = { kind: 'withheld', at: new Date(0).toISOString(), publicReason: null };
  };
  return { store, rehash, rest, withhold };
}

test('a blob that the cache evicts while it is sent is sent to its end', async () => {
  const { store, rest } = await halfSent();
  await store.delete(nameOf(blob), NEVER);
  expect(Buffer.compare(await rest(), blob.bytes.subarray(PART_BYTES))).toBe(0);
});

test('a takedown that deletes it ends the answer', async () => {
  const { store, rest, withhold } = await halfSent();
  withhold();
  await store.purge(nameOf(blob), NEVER);
  await expect(rest()).rejects.toMatchObject({ code: 'storage/fault', retryable: true });
});

test('a damage that is found, and repaired under its name, ends the answer', async () => {
  const { store, rehash, rest } = await halfSent();
  rehash.doubt(nameOf(blob));
  await store.put(blob, 'replace', NEVER);
  await expect(rest()).rejects.toMatchObject({ code: 'storage/fault' });
});

test('a file that was written before it was deleted ends the answer', async () => {
  const { store, rest } = await halfSent();
  const { hashType, versionHash } = nameOf(blob);
  const path = join(store.properties.where, 'blobs', hashType, versionHash.slice(0, 2), versionHash);
  writeFileSync(
    path,
    blob.bytes.map((byte) => byte ^ 0xff),
  );
  await store.delete(nameOf(blob), NEVER);
  await expect(rest()).rejects.toMatchObject({ code: 'storage/fault' });
});
