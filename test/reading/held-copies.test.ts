import { expect, test } from 'vitest';
import { HeldCopies } from '../../src/reading/held-copies.ts';
import { ProvenFiles } from '../../src/reading/proven-files.ts';
import { ROW_LIMIT_BYTES } from '../../src/storage/local/local-store.ts';
import { replicationScene } from '../replication/replication-scene.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

async function oneFile() {
  const blob = sampleBlob('asked for often', ROW_LIMIT_BYTES + 1);
  const scene = await replicationScene({ backends: [], mode: 'keep' });
  const { catalog, store, damage } = scene;
  await scene.spool(blob);
  const copies = new HeldCopies(store.id, scene.copies, damage, { offer: () => undefined });
  const [entry] = catalog.find(blob.versionHash);
  if (entry === undefined) throw new Error('the blob is not in the catalog');
  return { blob, copies, entry, store, rehash: scene.rehash };
}

test('while one reader has a file hashed for memory, others are given the file', async () => {
  const { copies, entry, store, rehash } = await oneFile();
  const reading = copies.find(entry, NEVER);
  const file = await new ProvenFiles(store, rehash, { refusal: () => null }).open(entry, NEVER);
  file?.close();
  expect(file).not.toBeNull();
  expect((await reading).found?.from).toBe(store.id);
});

test('a file that has rotted with its old times just after it was hashed comes to no reader’s memory', async () => {
  const { blob, copies, entry, store } = await oneFile();
  expect((await copies.find(entry, NEVER)).found?.from).toBe(store.id);
  const copy = store.copy.bind(store);
  store.copy = async (name, signal) => {
    const found = await copy(name, signal);
    if (found === null) return null;
    const bytes = Uint8Array.from(found.blob.bytes, (byte, at) => (at === 0 ? byte ^ 1 : byte));
    return { ...found, blob: { ...nameOf(blob), bytes } };
  };
  const { found, bad } = await copies.find(entry, NEVER);
  expect(found).toBeNull();
  expect(bad).toEqual([{ backend: store.id, kind: 'damaged' }]);
});
