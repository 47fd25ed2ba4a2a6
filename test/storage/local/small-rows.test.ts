import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { rotPage } from './rot.ts';

const BLOBS = Array.from({ length: 60 }, (_, index) => sampleBlob(`rot ${index}`, 3_000 + index));

/** A folder with sixty small blobs, closed. */
async function folderOfRows(): Promise<string> {
  const folder = temporaryFolder();
  const store = await LocalStore.open(folder);
  for (const blob of BLOBS) await store.put(blob, 'replace', NEVER);
  await store.close();
  return folder;
}

async function open(folder: string): Promise<LocalStore> {
  const store = await LocalStore.open(folder);
  onTestFinished(() => store.close());
  return store;
}

async function readable(store: LocalStore): Promise<number> {
  const reads = BLOBS.map(async (blob) => ((await store.get(nameOf(blob), NEVER).catch(() => null)) === null ? 0 : 1));
  return (await Promise.all<number>(reads)).reduce((sum, one) => sum + one, 0);
}

describe('a damaged file of small blobs', () => {
  test('with a damaged header is no reason not to open; small blobs are kept as files, and nothing is called absent', async () => {
    const folder = await folderOfRows();
    const path = join(folder, 'blobs', 'small.sqlite');
    const file = openSync(path, 'r+');
    writeSync(file, 'rotten header', 0);
    closeSync(file);
    const store = await open(folder);
    expect(store.damagedRows).toMatchObject({
      code: 'storage/damaged-database',
      message: expect.stringContaining(path),
    });
    const later = sampleBlob('later', 500);
    await store.put(later, 'replace', NEVER);
    expect(Buffer.from((await store.get(later, NEVER)) ?? '')).toEqual(Buffer.from(later.bytes));
    const [lost] = BLOBS;
    if (lost === undefined) throw new Error('There are sixty.');
    await expect(store.get(lost, NEVER)).rejects.toMatchObject({ code: 'storage/damaged-database' });
    await expect(store.stat(lost, NEVER)).rejects.toMatchObject({ code: 'storage/damaged-database' });
    const listed: string[] = [];
    const listing = async () => {
      for await (const { versionHash } of listBlobs(store, NEVER)) listed.push(versionHash);
    };
    await expect(listing()).rejects.toMatchObject({ code: 'storage/damaged-database' });
    expect(listed).toEqual([later.versionHash]);
    expect(await store.salvageRows(NEVER)).toMatchObject({ taken: 0 });
    expect(store.damagedRows).toBeNull();
    expect(await store.get(lost, NEVER)).toBeNull();
    await store.put(lost, 'replace', NEVER);
    // A row again, and no file.
    expect(await store.copy(lost, NEVER)).toMatchObject({ identity: null });
  });

  test.each(['table', 'index'] as const)(
    'with a damaged page of its %s gives all rows that can be read to a new one',
    async (part) => {
      const folder = await folderOfRows();
      rotPage(join(folder, 'blobs', 'small.sqlite'), part);
      const store = await open(folder);
      const before = await readable(store);
      // The first put or get that meets the page notices it.
      expect(store.damagedRows).not.toBeNull();
      const { taken, aside } = await store.salvageRows(NEVER);
      expect(taken).toBeGreaterThanOrEqual(before);
      expect(taken).toBeGreaterThan(part === 'index' ? 59 : 50);
      expect(await readable(store)).toBe(taken);
      expect(existsSync(aside)).toBe(true);
      expect(store.rowsSetAside).toEqual([aside]);
      const database = new Database(join(folder, 'blobs', 'small.sqlite'), { readonly: true });
      expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
      database.close();
    },
  );

  test('with a damaged root gives the rows that are left, and takes new ones afterwards', async () => {
    const folder = await folderOfRows();
    rotPage(join(folder, 'blobs', 'small.sqlite'), 'root');
    const store = await open(folder);
    expect(await readable(store)).toBeLessThan(60);
    await store.salvageRows(NEVER);
    for (const blob of BLOBS) await store.put(blob, 'replace', NEVER);
    expect(await readable(store)).toBe(60);
  });

  test('keeps a purge from being called done while it may hold the bytes', async () => {
    const folder = await folderOfRows();
    rotPage(join(folder, 'blobs', 'small.sqlite'), 'table');
    const store = await open(folder);
    await readable(store);
    const { aside } = await store.salvageRows(NEVER);
    const [blob] = BLOBS;
    if (blob === undefined) throw new Error('There are sixty.');
    await expect(store.purge(blob, NEVER)).rejects.toMatchObject({
      code: 'storage/damaged-database',
      message: expect.stringContaining(aside),
    });
    rmSync(aside);
    await store.purge(blob, NEVER);
    expect(await store.stat(blob, NEVER)).toBeNull();
  });
});

test('a salvage that a crash cut short starts over, and leaves nothing behind', async () => {
  const folder = await folderOfRows();
  const half = new Database(join(folder, 'blobs', 'small.sqlite.new'));
  half.exec('CREATE TABLE blob (half)');
  half.close();
  const store = await open(folder);
  expect(await readable(store)).toBe(60);
  expect(readdirSync(join(folder, 'blobs')).filter((name) => name.includes('new'))).toEqual([]);
});

/**
 * Crashes between two steps that put a complete new file in place of the damaged one, and the names that exist then.
 */
const MOMENTS = ['before the damaged file moved', 'after its log moved', 'after the damaged file moved'] as const;

test.each(MOMENTS)('a crash %s loses no row that was taken over', async (moment) => {
  const folder = await folderOfRows();
  const path = join(folder, 'blobs', 'small.sqlite');
  // All sixty rows are in the new file, and the old one gives none of them.
  renameSync(path, `${path}.salvaged-1`);
  if (moment === 'after its log moved') writeFileSync(`${path}.damaged-1-wal`, 'log');
  else writeFileSync(`${path}-wal`, 'log');
  writeFileSync(moment === 'after the damaged file moved' ? `${path}.damaged-1` : path, 'rotten');
  const store = await open(folder);
  expect(store.damagedRows).toBeNull();
  expect(await readable(store)).toBe(60);
  expect(store.rowsSetAside).toEqual([`${path}.damaged-1`]);
  expect(existsSync(`${path}.damaged-1-wal`)).toBe(true);
});

test('a salvage whose last steps failed goes on with the rows that it had taken over', async () => {
  const folder = await folderOfRows();
  const path = join(folder, 'blobs', 'small.sqlite');
  rotPage(path, 'table');
  const store = await open(folder);
  const before = await readable(store);
  // The target of the damaged file is a folder that is not empty: the file cannot be moved there.
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000 });
  onTestFinished(() => void vi.useRealTimers());
  mkdirSync(`${path}.damaged-1000/in-the-way`, { recursive: true });
  await expect(store.salvageRows(NEVER)).rejects.toThrow();
  expect(store.damagedRows).not.toBeNull();
  rmSync(`${path}.damaged-1000`, { recursive: true });
  const { taken } = await store.salvageRows(NEVER);
  expect(taken).toBeGreaterThanOrEqual(before);
  expect(await readable(store)).toBe(taken);
});

test('a purge is not called done while the rows are damaged: their file is set aside as it is', async () => {
  const folder = await folderOfRows();
  rotPage(join(folder, 'blobs', 'small.sqlite'), 'table');
  const store = await open(folder);
  await readable(store);
  expect(store.damagedRows).not.toBeNull();
  for (const blob of BLOBS) {
    await expect(store.purge(blob, NEVER)).rejects.toMatchObject({ code: 'storage/damaged-database' });
  }
});

test('a folder whose name looks like a pattern tells what was set aside there', async () => {
  const folder = join(temporaryFolder(), '[data]');
  mkdirSync(join(folder, 'blobs'), { recursive: true });
  const path = join(folder, 'blobs', 'small.sqlite');
  writeFileSync(`${path}.damaged-7`, 'rotten');
  expect((await open(folder)).rowsSetAside).toEqual([`${path}.damaged-7`]);
});
