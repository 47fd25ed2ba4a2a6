import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FolderSource } from '../../../src/backfill/source/folder-source.ts';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const blob = sampleBlob('in a file', 500, 'blake2s256');

async function opened(path: string): Promise<FolderSource> {
  const source = await FolderSource.open(path);
  onTestFinished(() => source.close());
  return source;
}

const bytesIn = (answer: Awaited<ReturnType<FolderSource['find']>>) =>
  answer.kind === 'bytes' ? answer.candidates.map((one) => Buffer.from(one).toString('hex')) : [];

test.each([
  ['', 'raw'],
  ['', 'hex'],
  ['blake2s256', 'raw'],
  ['blobs/blake2s256', 'raw'],
  [`blobs/blake2s256/${blob.versionHash.slice(0, 2)}`, 'raw'],
] as const)('files named by their hash: %s, %s', async (below, form) => {
  const folder = temporaryFolder();
  const file = join(folder, below, blob.versionHash);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, form === 'raw' ? blob.bytes : `${Buffer.from(blob.bytes).toString('hex')}\n`);
  const source = await opened(folder);
  expect(bytesIn(await source.find(blob, NEVER))).toContain(Buffer.from(blob.bytes).toString('hex'));
  expect(await source.size(blob, NEVER)).toBe(500);
  expect(await source.find(sampleBlob('other', 5), NEVER)).toEqual({ kind: 'absent' });
});

test('a data folder of Holdfast: its files and its small rows, while its archive runs', async () => {
  const folder = temporaryFolder();
  const store = await LocalStore.open(folder);
  onTestFinished(() => store.close());
  const large = sampleBlob('large', 100_000);
  await store.put(blob, 'replace', NEVER);
  await store.put(large, 'replace', NEVER);
  const source = await opened(folder);
  expect(bytesIn(await source.find(blob, NEVER))).toEqual([Buffer.from(blob.bytes).toString('hex')]);
  expect(bytesIn(await source.find(large, NEVER))).toEqual([Buffer.from(large.bytes).toString('hex')]);
});

test('a folder that is not there, or went away, is a fault and not absence', async () => {
  const folder = join(temporaryFolder(), 'blobs');
  await expect(FolderSource.open(folder)).rejects.toMatchObject({ code: 'source/unreadable' });
  mkdirSync(folder);
  const source = await opened(folder);
  rmSync(folder, { recursive: true });
  await expect(source.find(blob, NEVER)).rejects.toMatchObject({ code: 'source/unreadable' });
});
