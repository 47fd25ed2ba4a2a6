import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storageFault } from '../../src/storage/errors.ts';
import { type ArchiveScene, archiveScene } from '../app/archive-under-test.ts';
import { eventually } from '../e2e/eventually.ts';
import { readWhole } from '../read-whole.ts';
import { MemoryBackend } from '../replication/memory-backend.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A disk that does not give one blob, until it is repaired. */
function faultyDisk({ store }: ArchiveScene, versionHash: string) {
  const copy = store.copy.bind(store);
  let isFaulty = true;
  store.copy = async (name, signal) => {
    if (isFaulty && name.versionHash === versionHash) throw storageFault('local', 'get', new Error('EIO'));
    return await copy(name, signal);
  };
  const mend = () => {
    isFaulty = false;
  };
  return { mend };
}

const bad = sampleBlob('the disk does not give it', 80_000);
const good = Array.from({ length: 5 }, (_, index) => sampleBlob(`readable ${index}`, 80_000));

test('a blob that cannot be read back keeps none of the others from being stored', async () => {
  const scene = await archiveScene();
  for (const blob of [bad, ...good]) scene.node.publish(blob);
  faultyDisk(scene, bad.versionHash);
  scene.start();
  await eventually(() => expect(scene.catalog.totals()).toMatchObject({ spooled: 1, stored: 5 }));
  await eventually(() => {
    expect(scene.conditions.all()).toMatchObject([{ code: 'storage/fault', blocksReadiness: false }]);
  });
  const [entry] = scene.catalog.find(bad.versionHash);
  expect(entry === undefined ? [] : scene.catalog.placementsOf(entry)).toMatchObject([{ state: 'wanted' }]);
});

for (const [where, backend] of [
  ['in a folder that keeps everything', null],
  ['in a cache', new MemoryBackend('s3')],
] as const) {
  test(`a left-over blob ${where} that cannot be read is fetched, and no condition of it stays`, async () => {
    const dataDir = temporaryFolder();
    const before = await archiveScene({ dataDir, backend });
    before.catalog.noteListed([{ ...before.node.publish(bad), medianTimeSeconds: 1_767_225_600 }]);
    before.catalog.recordRebuilt();
    await before.release();
    const scene = await archiveScene({ dataDir, backend, node: before.node });
    const { mend } = faultyDisk(scene, bad.versionHash);
    scene.archive.activity.on('spooled', mend);
    scene.start();
    await eventually(() => expect(scene.catalog.totals()).toMatchObject({ seen: 0, stored: 1 }));
    expect(scene.node.askedFor(bad.versionHash)).toBe(1);
    expect(scene.log.some((line) => line.includes('cannot be read here, and is fetched'))).toBe(true);
    await eventually(() => expect(scene.conditions.all()).toEqual([]));
  });
}

test('an unreadable orphan keeps no other from being indexed, is not called absent, and is indexed when the disk is repaired', async () => {
  const dataDir = temporaryFolder();
  const before = await archiveScene({ dataDir });
  for (const blob of [bad, ...good]) await before.store.put(blob, 'replace', NEVER);
  await before.release();
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `catalog.sqlite${suffix}`), { force: true });

  const scene = await archiveScene({ dataDir });
  const { mend } = faultyDisk(scene, bad.versionHash);
  const running = scene.start();
  await eventually(() => expect(scene.catalog.totals().stored).toBe(good.length));
  await eventually(() => expect(scene.conditions.all()).toMatchObject([{ code: 'archive/unreadable-files' }]));
  const unknown = { versionHash: sampleBlob('unknown', 1).versionHash, hashType: null };
  await eventually(async () => expect(await readWhole(scene.archive, unknown, NEVER)).toEqual({ kind: 'absent' }));
  const name = { versionHash: bad.versionHash, hashType: null };
  expect(await readWhole(scene.archive, name, NEVER)).toMatchObject({ kind: 'unavailable' });
  expect(scene.catalog.isRebuilt()).toBe(false);
  mend();
  await running.stop();
  await scene.release();

  const after = await archiveScene({ dataDir });
  after.start();
  await eventually(() => expect(after.catalog.totals().stored).toBe(good.length + 1));
  await eventually(() => expect(after.catalog.isRebuilt()).toBe(true));
});
