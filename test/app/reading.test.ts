import { renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { NamedHash } from '../../src/core/blob/ids.ts';
import { StorageError } from '../../src/storage/errors.ts';
import { type ProvenFile, ROOM_IS_MADE } from '../../src/view/archive-view.ts';
import { eventually } from '../e2e/eventually.ts';
import { readWhole } from '../read-whole.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type ArchiveScene, archiveScene } from './archive-under-test.ts';

const small = [sampleBlob('a row', 1_024), sampleBlob('a row of the other hash', 700, 'blake2s256')];
const large = sampleBlob('a file', 200_000);

/** All are stored, and the catalog is whole. */
async function stored() {
  const dataDir = temporaryFolder();
  const scene = await archiveScene({ dataDir });
  for (const blob of [...small, large]) scene.node.publish(blob);
  scene.start();
  await eventually(() => expect(scene.catalog.totals().stored).toBe(3));
  await eventually(() => expect(scene.catalog.isRebuilt()).toBe(true));
  return {
    ...scene,
    dataDir,
    path: join(dataDir, 'blobs', large.hashType, large.versionHash.slice(0, 2), large.versionHash),
  };
}

const opening = ({ archive }: Pick<ArchiveScene, 'archive'>, name: NamedHash) =>
  archive.reader.open(name, { ...ROOM_IS_MADE, signal: NEVER });

async function fileOf(scene: Pick<ArchiveScene, 'archive'>): Promise<ProvenFile> {
  const given = await opening(scene, nameOf(large));
  if (given.kind !== 'file') throw new Error(`It is given as ${given.kind}.`);
  onTestFinished(() => given.file.close());
  return given.file;
}

test('a small blob of either hash is given in memory, a large one in its file, by its 32 bytes alone', async () => {
  const scene = await stored();
  for (const { versionHash, hashType, bytes } of small) {
    const given = await opening(scene, { versionHash, hashType: null });
    expect(given).toMatchObject({ kind: 'memory', blob: { versionHash, hashType } });
    expect(given.kind === 'memory' && Buffer.compare(given.blob.bytes, bytes)).toBe(0);
  }
  const given = await opening(scene, { versionHash: large.versionHash, hashType: null });
  expect(given).toMatchObject({ kind: 'file', file: { ...nameOf(large), sizeBytes: large.bytes.length } });
  if (given.kind === 'file') given.file.close();
});

test('memory is asked for as much as the blob has, and for nothing where nothing is read', async () => {
  const { archive } = await stored();
  const held: number[] = [];
  const asking = {
    signal: NEVER,
    hold: async (bytes: number) => void held.push(bytes),
    isTight: () => false,
    sending: null,
  };
  for (const blob of small) await archive.reader.open(nameOf(blob), asking);
  await archive.reader.open(nameOf(sampleBlob('unknown', 10)), asking);
  expect(held).toEqual([1_024, 700]);
});

test('a blob that was damaged after an answer is not given again, however often it was proven before', async () => {
  const scene = await stored();
  const [blob] = small;
  if (blob === undefined) throw new Error('no blob');
  expect(await opening(scene, nameOf(blob))).toMatchObject({ kind: 'memory' });
  const rows = new Database(join(scene.dataDir, 'blobs', 'small.sqlite'));
  const spoilt = Buffer.from(blob.bytes);
  spoilt.writeUInt8(spoilt.readUInt8(500) ^ 1, 500);
  rows.prepare('UPDATE blob SET bytes = ? WHERE version_hash = ?').run(spoilt, Buffer.from(blob.versionHash, 'hex'));
  rows.close();
  expect(await opening(scene, nameOf(blob))).toMatchObject({ kind: 'unavailable', reason: 'damaged' });
});

test('a large blob is given only as long as its file is the one that was proven', async () => {
  const scene = await stored();
  const file = await fileOf(scene);
  const read = Buffer.alloc(1_000);
  await file.read(read, 70_000);
  expect(read.equals(Buffer.from(large.bytes.subarray(70_000, 71_000)))).toBe(true);
  // The archive fetches a damaged copy again: the node gives it no more.
  scene.node.fetching = async (wanted) => wanted.map(() => ({ kind: 'absent' }));
  const spoilt = Buffer.from(large.bytes);
  spoilt.writeUInt8(spoilt.readUInt8(500) ^ 1, 500);
  writeFileSync(scene.path, spoilt);
  await expect(file.read(read, 0)).rejects.toThrow(StorageError);
  expect(await opening(scene, nameOf(large))).toMatchObject({ kind: 'unavailable', reason: 'damaged' });
  rmSync(scene.path);
  expect(await opening(scene, nameOf(large))).toMatchObject({ kind: 'unavailable' });
});

test('a file that was cut short is not the one that was proven, nor is one of the same bytes that took its place', async () => {
  const scene = await stored();
  const file = await fileOf(scene);
  writeFileSync(`${scene.path}.new`, large.bytes);
  renameSync(`${scene.path}.new`, scene.path);
  // The open file has no name any more, and is still what was proven.
  const read = Buffer.alloc(10);
  await file.read(read, 0);
  expect(read.equals(Buffer.from(large.bytes.subarray(0, 10)))).toBe(true);
  // The other one is hashed first, and is what is given then.
  expect(await readWhole(scene.archive, nameOf(large), NEVER)).toMatchObject({ kind: 'found' });
  await expect(file.read(read, 0)).rejects.toThrow(StorageError);
  const again = await fileOf(scene);
  truncateSync(scene.path, 1_000);
  await expect(again.read(Buffer.alloc(10), 0)).rejects.toThrow(StorageError);
});

test('withheld content is not given from the moment that it is withheld', async () => {
  const scene = await stored();
  const [blob, other] = small;
  if (blob === undefined || other === undefined) throw new Error('no blob');
  const withhold = (one: typeof blob) => {
    const entry = { ...nameOf(one), archiver: 'file', reason: 'an order', publicReason: null, atMs: 1, purge: false };
    scene.catalog.withheld.record([entry], false);
  };
  expect(await opening(scene, nameOf(blob))).toMatchObject({ kind: 'memory' });
  withhold(blob);
  expect(await opening(scene, nameOf(blob))).toMatchObject({ kind: 'withheld' });
  expect(await opening(scene, { ...nameOf(blob), hashType: null })).toMatchObject({ kind: 'withheld' });
  expect(await opening(scene, nameOf(other))).toMatchObject({ kind: 'memory' });
  await fileOf(scene);
  withhold(large);
  expect(await opening(scene, nameOf(large))).toMatchObject({ kind: 'withheld' });
});

test('before the catalog is whole nothing is given: what it does not know may be withheld', async () => {
  const scene = await archiveScene();
  const [blob] = small;
  if (blob === undefined) throw new Error('no blob');
  await scene.store.put(blob, 'replace', NEVER);
  expect(await opening(scene, nameOf(blob))).toMatchObject({ kind: 'unavailable', reason: 'cannot-tell' });
});
