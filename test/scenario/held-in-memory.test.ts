import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

const NEVER = new AbortController().signal;
/** Large enough for a file of its own, and kept in memory once it was asked for some times. */
const LARGE_BYTES = 200_000;

test('bytes whose last copy is gone are saved out of memory, and not recorded as lost', async () => {
  const scene = await Scene.create({ env: { HOLDFAST_HTTP_CACHE_BYTES: '10000000' } });
  await scene.start();
  const blob = scene.submit(LARGE_BYTES);
  scene.mine(2);
  await scene.caughtUp();
  const bytesServed = async () => {
    const reply = await fetch(`${scene.url}/v1/blobs/${blob.versionHash}`);
    return { status: reply.status, bytes: new Uint8Array(await reply.arrayBuffer()) };
  };
  for (let time = 0; time < 4; time += 1) expect((await bytesServed()).status).toBe(200);
  // The node prunes it, and an operator deletes the file.
  scene.mine(7 * HOUR_BLOCKS);
  await scene.caughtUp();
  const file = join(scene.dataDir, 'blobs', blob.hashType, blob.versionHash.slice(0, 2), blob.versionHash);
  rmSync(file);
  expect(await bytesServed()).toEqual({ status: 200, bytes: new Uint8Array(blob.bytes) });
  const options = { subset: null, backend: null, repair: true };
  const report = await scene.archive.upkeep.check(options, () => {}, NEVER);
  expect(report).toMatchObject({ backends: [{ backend: 'local', missing: 1 }], leftCount: 0 });
  await scene.until('stored again', () => scene.archive.status().content.stored === 1);
  expect(scene.archive.status().chain.lost).toBe(0);
  expect(scene.archive.losses()).toEqual([]);
  // The blob is on disk by now, and not in memory alone.
  await scene.stop();
  await scene.start();
  expect(await bytesServed()).toEqual({ status: 200, bytes: new Uint8Array(blob.bytes) });
});

test('a blob that only memory has, and that no disk takes, keeps no other from being judged', async () => {
  const scene = await Scene.create({ env: { HOLDFAST_HTTP_CACHE_BYTES: '10000000' } });
  await scene.start();
  const refused = scene.submit(LARGE_BYTES);
  scene.mine(2);
  const gone = scene.submit(LARGE_BYTES + 1);
  scene.mine(2);
  await scene.caughtUp();
  for (let time = 0; time < 4; time += 1) {
    const reply = await fetch(`${scene.url}/v1/blobs/${refused.versionHash}`);
    expect((await reply.arrayBuffer()).byteLength).toBe(LARGE_BYTES);
  }
  scene.mine(7 * HOUR_BLOCKS);
  await scene.caughtUp();
  const folderOf = (blob: typeof gone) => join(scene.dataDir, 'blobs', blob.hashType, blob.versionHash.slice(0, 2));
  rmSync(join(folderOf(gone), gone.versionHash));
  rmSync(folderOf(refused), { recursive: true });
  writeFileSync(folderOf(refused), 'a file in the place of the folder');
  await scene.archive.upkeep.check({ subset: null, backend: null, repair: true }, () => {}, NEVER);
  // A block wakes the judge, who would look only some seconds later.
  scene.mine(1);
  await scene.until('the other is judged', () => scene.archive.status().chain.lost === 1);
  expect(scene.archive.losses().map(({ versionHash }) => versionHash)).toEqual([gone.versionHash]);
});
