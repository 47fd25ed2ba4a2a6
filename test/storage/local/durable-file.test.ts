import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDurableFolder, writeDurably } from '../../../src/storage/local/durable-file.ts';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { parseRecordPath } from '../../../src/storage/record-path.ts';
import { describeWhere } from '../../promised.ts';
import { NEVER } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type WatchedSync, watchSyncs } from './watched-syncs.ts';

/** Folders above are synced once per process, so the order of the tests decides about those syncs. */
function pathsBelow(folder: string, syncs: readonly WatchedSync[]): string[] {
  return syncs.map(({ path }) => path).filter((path) => path.startsWith(folder));
}

const describeWithDescriptors = describeWhere(existsSync('/proc/self/fd'), 'there is no /proc/self/fd');

describeWithDescriptors('syncs of files and folders', () => {
  test('a file is synced under its temporary name, renamed, and then its folder is synced', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'final');
    mkdirSync(join(folder, 'temporary'));
    const syncs = await watchSyncs(path);
    await writeDurably(path, Buffer.from('bytes'), join(folder, 'temporary'));
    expect(syncs).toHaveLength(2);
    expect(syncs[0]).toMatchObject({ isNamed: false });
    expect(dirname(syncs[0]?.path ?? '')).toBe(join(folder, 'temporary'));
    expect(syncs[1]).toEqual({ path: folder, isNamed: true });
  });

  test('every folder that gained a name on the way down is synced', async () => {
    const folder = temporaryFolder();
    const syncs = await watchSyncs(folder);
    await makeDurableFolder(join(folder, 'a', 'b', 'c'));
    expect(pathsBelow(folder, syncs)).toEqual([folder, join(folder, 'a'), join(folder, 'a', 'b')]);
  });

  test('an existing folder is synced once, and concurrent callers wait for that sync', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
    const syncs = await watchSyncs(folder);
    const both = [makeDurableFolder(join(folder, 'a', 'b')), makeDurableFolder(join(folder, 'a', 'b'))];
    await both[1];
    expect(pathsBelow(folder, syncs)).toEqual([folder, join(folder, 'a')]);
    await Promise.all(both);
    await makeDurableFolder(join(folder, 'a', 'b'));
    expect(pathsBelow(folder, syncs)).toHaveLength(2);
  });

  test('a folder that was removed and is made again is synced again', async () => {
    const folder = temporaryFolder();
    await makeDurableFolder(join(folder, 'a'));
    rmSync(join(folder, 'a'), { recursive: true });
    const syncs = await watchSyncs(folder);
    await makeDurableFolder(join(folder, 'a'));
    expect(pathsBelow(folder, syncs)).toEqual([folder]);
  });

  test("a deleted record's folder is synced, also where a crash came after the deletion", async () => {
    const folder = temporaryFolder();
    const store = await LocalStore.open(folder);
    const path = parseRecordPath('audit/abc/audits/1.json');
    await store.put({ path, text: '{}' }, 'replace', NEVER);
    const syncs = await watchSyncs(join(folder, path));
    await store.delete(path, NEVER);
    expect(syncs).toEqual([{ path: dirname(join(folder, path)), isNamed: false }]);
    await store.delete(path, NEVER);
    expect(syncs).toHaveLength(2);
  });
});

test('a file has its whole new content, and the temporary one is gone', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'temporary'));
  const path = join(folder, 'final');
  writeFileSync(path, 'the old content, which is longer');
  await writeDurably(path, Buffer.from('new'), join(folder, 'temporary'));
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(readdirSync(join(folder, 'temporary'))).toEqual([]);
});

test('a write that fails leaves the old content, and no temporary file', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'temporary'));
  mkdirSync(join(folder, 'final', 'not empty'), { recursive: true });
  await expect(writeDurably(join(folder, 'final'), Buffer.from('new'), join(folder, 'temporary'))).rejects.toThrow();
  expect(readdirSync(join(folder, 'final'))).toEqual(['not empty']);
  expect(readdirSync(join(folder, 'temporary'))).toEqual([]);
});

test('a folder that is there already is no error', async () => {
  const folder = temporaryFolder();
  await makeDurableFolder(join(folder, 'a'));
  await makeDurableFolder(join(folder, 'a'));
  expect(existsSync(join(folder, 'a'))).toBe(true);
});
