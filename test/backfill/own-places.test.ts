import { expect, test } from 'vitest';
import { OwnPlaces } from '../../src/backfill/own-places.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { keyOf, MemoryBackend } from '../replication/memory-backend.ts';
import { replicationScene } from '../replication/replication-scene.ts';
import { HASHER, NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';

const BLOB = sampleBlob('on a backend', 1_000);
const ROW = { ...nameOf(BLOB), txid: null, medianTimeSeconds: null, firstSeenMs: 1 };

/** A new catalog over an empty folder, beside a backend that has the blob, pinned or not. */
async function scene(isPinned: boolean) {
  const backend = new MemoryBackend('ipfs');
  backend.blobs.set(keyOf(BLOB), BLOB.bytes);
  backend.isPinned = () => isPinned;
  const { replication, store, catalog } = await replicationScene({ backends: [backend] });
  await replication.admit(NEVER);
  const verifier = { verify: async (candidate: Parameters<typeof verifyBlob>[0]) => verifyBlob(candidate, HASHER) };
  const held = new BlobCache(0, SYSTEM_CLOCK);
  return { catalog, own: new OwnPlaces(store, replication.sites, catalog, verifier, held, { isDone: false }) };
}

test('a copy that a backend has and keeps is recorded there, and not fetched', async () => {
  const { catalog, own } = await scene(true);
  expect(await own.find(nameOf(BLOB), ROW, NEVER)).toEqual({ kind: 'recorded' });
  expect(catalog.totals()).toMatchObject({ stored: 1 });
});

test('a copy that a backend has without keeping it is not recorded there, and its bytes are made durable', async () => {
  const { catalog, own } = await scene(false);
  expect(await own.find(nameOf(BLOB), ROW, NEVER)).toMatchObject({ kind: 'orphan', blob: nameOf(BLOB) });
  expect(catalog.find(BLOB.versionHash)).toEqual([]);
});
