import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { archiveScene } from '../app/archive-under-test.ts';
import { eventually } from '../e2e/eventually.ts';
import { readWhole } from '../read-whole.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const blobs = Array.from({ length: 12 }, (_, index) => sampleBlob(`kept ${index}`, index % 4 === 0 ? 80_000 : 100));

/** A folder that holds the blobs, and no catalog. */
async function orphanedFolder(): Promise<string> {
  const dataDir = temporaryFolder();
  const scene = await archiveScene({ dataDir });
  for (const blob of blobs) await scene.store.put(blob, 'replace', NEVER);
  await scene.release();
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `catalog.sqlite${suffix}`), { force: true });
  return dataDir;
}

test('a folder without its catalog gets every row back, and nothing that lies there is fetched', async () => {
  const scene = await archiveScene({ dataDir: await orphanedFolder() });
  for (const blob of blobs) scene.node.publish(blob);
  const fresh = sampleBlob('not there yet', 200);
  scene.node.publish(fresh);
  scene.start();
  await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: blobs.length + 1 }));
  expect(scene.node.requests.flat().map(({ versionHash }) => versionHash)).toEqual([fresh.versionHash]);
  expect(scene.catalog.isRebuilt()).toBe(true);
  expect(scene.conditions.has('rebuild')).toBe(false);
});

test('a damaged file raises the alarm, and comes again from the node', async () => {
  const dataDir = await orphanedFolder();
  const [file] = blobs;
  if (file === undefined) throw new Error('There is no blob.');
  writeFileSync(join(dataDir, 'blobs', file.hashType, file.versionHash.slice(0, 2), file.versionHash), 'damaged');
  const scene = await archiveScene({ dataDir });
  scene.start();
  await eventually(() => expect(scene.catalog.totals().stored).toBe(blobs.length - 1));
  expect(scene.conditions.all()).toContainEqual(expect.objectContaining({ code: 'archive/damaged-copy' }));
  scene.node.publish(file);
  await eventually(() => expect(scene.catalog.totals().stored).toBe(blobs.length));
  await eventually(() => expect(scene.conditions.has('damage')).toBe(false));
});

test('damage is still reported after a restart', async () => {
  const dataDir = temporaryFolder();
  const before = await archiveScene({ dataDir });
  const [file] = blobs;
  if (file === undefined) throw new Error('There is no blob.');
  before.node.publish(file);
  const running = before.start();
  await eventually(() => expect(before.catalog.totals().stored).toBe(1));
  await running.stop();
  before.catalog.recordDamaged('local', file);
  await before.release();
  const after = await archiveScene({ dataDir });
  expect(after.conditions.all()).toMatchObject([{ code: 'archive/damaged-copy' }]);
});

test('the rebuild at a start needs no node', async () => {
  const scene = await archiveScene({ dataDir: await orphanedFolder() });
  scene.node.genesis = () => Promise.reject(new Error('gone'));
  scene.start();
  await eventually(() => expect(scene.catalog.totals().stored).toBe(blobs.length));
});

test('an interrupted rebuild begins again in the next process, though some rows are there', async () => {
  const dataDir = await orphanedFolder();
  const first = await archiveScene({ dataDir });
  const [one] = blobs;
  if (one === undefined) throw new Error('There is no blob.');
  first.catalog.recordSpooled([
    { ...one, sizeBytes: one.bytes.length, txid: null, medianTimeSeconds: null, firstSeenMs: 1 },
  ]);
  await first.release();
  const second = await archiveScene({ dataDir });
  expect(second.catalog.isRebuilt()).toBe(false);
  second.start();
  await eventually(() => expect(second.catalog.totals().stored).toBe(blobs.length));
  expect(second.catalog.isRebuilt()).toBe(true);
});

test('until it is done, nothing is called absent', async () => {
  const scene = await archiveScene({ dataDir: await orphanedFolder() });
  const name = { versionHash: sampleBlob('nowhere', 1).versionHash, hashType: null };
  expect(await readWhole(scene.archive, name, NEVER)).toMatchObject({ kind: 'unavailable', reason: 'cannot-tell' });
});
