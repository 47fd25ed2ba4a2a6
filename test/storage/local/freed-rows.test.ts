import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

async function opened() {
  const folder = temporaryFolder();
  const store = await LocalStore.open(folder);
  onTestFinished(() => store.close());
  const files = () => readdirSync(join(folder, 'blobs')).filter((name) => name.startsWith('small.sqlite'));
  const bytesOf = (name: string) => readFileSync(join(folder, 'blobs', name));
  /** Files in which a part of these bytes can be found. */
  const filesWith = (bytes: Uint8Array) =>
    files().filter((name) => bytesOf(name).includes(Buffer.from(bytes).subarray(100, 300)));
  const sizeBytes = () => files().reduce((sum, name) => sum + statSync(join(folder, 'blobs', name)).size, 0);
  return { folder, store, filesWith, sizeBytes };
}

describe('bytes of a small blob that is purged', () => {
  test('are in no file any more, whatever was written around them', async () => {
    const { store, filesWith } = await opened();
    const secret = sampleBlob('the secret', 3_000);
    for (let index = 0; index < 20; index += 1)
      await store.put(sampleBlob(`other ${index}`, 3_000 + index), 'replace', NEVER);
    await store.put(secret, 'replace', NEVER);
    expect(filesWith(secret.bytes)).not.toEqual([]);
    expect(await store.purge(nameOf(secret), NEVER)).toBe(true);
    expect(filesWith(secret.bytes)).toEqual([]);
  });

  test('are in no file any more, also where its other copy cannot be deleted', async () => {
    const { folder, store, filesWith } = await opened();
    const secret = sampleBlob('the secret', 3_000);
    await store.put(secret, 'replace', NEVER);
    const { hashType, versionHash } = secret;
    // A folder has the name of its file.
    mkdirSync(join(folder, 'blobs', hashType, versionHash.slice(0, 2), versionHash), { recursive: true });
    await expect(store.purge(nameOf(secret), NEVER)).rejects.toThrow('delete');
    expect(filesWith(secret.bytes)).toEqual([]);
  });

  test('are gone as well from what an eviction freed before', async () => {
    const { store, filesWith } = await opened();
    const secret = sampleBlob('evicted before', 40_000);
    for (let index = 0; index < 20; index += 1)
      await store.put(sampleBlob(`other ${index}`, 9_000 + index), 'replace', NEVER);
    await store.put(secret, 'replace', NEVER);
    await store.put(sampleBlob('behind it', 9_000), 'replace', NEVER);
    await store.delete(nameOf(secret), NEVER);
    expect(filesWith(secret.bytes)).not.toEqual([]);
    expect(await store.purge(nameOf(secret), NEVER)).toBe(false);
    expect(filesWith(secret.bytes)).toEqual([]);
  });
});

test('the space of deleted rows goes back to the disk', async () => {
  const { store, sizeBytes } = await opened();
  const blobs = Array.from({ length: 200 }, (_, index) => sampleBlob(`row ${index}`, 60_000 + index));
  for (const blob of blobs) await store.put(blob, 'replace', NEVER);
  await store.reclaim(NEVER);
  const full = sizeBytes();
  for (const blob of blobs.slice(0, 150)) await store.delete(nameOf(blob), NEVER);
  await store.reclaim(NEVER);
  expect(sizeBytes()).toBeLessThan(full * 0.3);
  for (const blob of blobs.slice(150)) expect(await store.get(nameOf(blob), NEVER)).not.toBeNull();
});

describe('a file of rows that another program made, and that keeps its free pages', () => {
  const secret = sampleBlob('evicted from a dump', 40_000);

  async function dumped() {
    const scene = await opened();
    for (let index = 0; index < 20; index += 1)
      await scene.store.put(sampleBlob(`other ${index}`, 9_000 + index), 'replace', NEVER);
    await scene.store.put(secret, 'replace', NEVER);
    await scene.store.put(sampleBlob('behind it', 9_000), 'replace', NEVER);
    await scene.store.close();
    const database = new Database(join(scene.folder, 'blobs', 'small.sqlite'));
    database.pragma('auto_vacuum = NONE');
    database.exec('VACUUM');
    database.close();
    const store = await LocalStore.open(scene.folder);
    onTestFinished(() => store.close());
    await store.delete(nameOf(secret), NEVER);
    return { ...scene, store };
  }

  test('is no reason to wait for them without end', async () => {
    const { store } = await dumped();
    await store.reclaim(AbortSignal.timeout(60_000));
  });

  test('is rewritten by a purge, after which the bytes are in no file', async () => {
    const { store, filesWith } = await dumped();
    expect(filesWith(secret.bytes)).not.toEqual([]);
    await store.purge(nameOf(secret), AbortSignal.timeout(60_000));
    expect(filesWith(secret.bytes)).toEqual([]);
  });
});
