import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { cli } from '../cli/cli-in-process.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { rotPage } from '../storage/local/rot.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { MIGRATIONS, spooled } from './catalog-in-folder.ts';

const BLOBS = [sampleBlob('a', 3_000), sampleBlob('b', 90_000), sampleBlob('c', 10)];

function open(folder: string, remakesDamaged: boolean): Catalog {
  return Catalog.open({
    path: join(folder, 'catalog.sqlite'),
    migrationsFolder: MIGRATIONS,
    backends: ['local'],
    replicasRequired: 1,
    clock: SYSTEM_CLOCK,
    remakesDamaged,
  });
}

/** A data folder with three blobs that its catalog knows; nothing is open. */
async function archiveFolder(): Promise<string> {
  const folder = temporaryFolder();
  const claimed = await DataFolder.claim(folder);
  const store = await LocalStore.open(folder);
  const catalog = open(folder, false);
  for (const blob of BLOBS) {
    await store.put(blob, 'replace', NEVER);
    const { hashType, versionHash, bytes } = blob;
    catalog.recordSpooled([
      { hashType, versionHash, sizeBytes: bytes.length, txid: null, medianTimeSeconds: 1, firstSeenMs: 1 },
    ]);
  }
  catalog.close();
  await store.close();
  await claimed.release();
  return folder;
}

describe.each(['header', 'contents'] as const)('a catalog with damaged %s', (what) => {
  const spoil = (folder: string) => {
    const path = join(folder, 'catalog.sqlite');
    if (what === 'contents') rotPage(path, 'content');
    else writeFileSync(path, 'no database at all, and longer than the header of one would be: '.repeat(10));
    return path;
  };

  test('is refused with its path and with the command that makes it again', async () => {
    const folder = await archiveFolder();
    const path = spoil(folder);
    expect(() => open(folder, false)).toThrow(
      expect.objectContaining({
        code: 'catalog/damaged',
        message: expect.stringContaining(path),
        hint: expect.stringContaining('holdfast rebuild'),
      }),
    );
  });

  test('is set aside by rebuild, which fills a new one with everything that lies in the folder', async () => {
    const folder = await archiveFolder();
    spoil(folder);
    const env = { HOLDFAST_DATA_DIR: folder };
    const { code, stdout, stderr } = await cli(['rebuild'], env);
    expect([code, stderr]).toEqual([0, expect.stringContaining('catalog.sqlite.damaged-')]);
    expect(stdout).toContain('the data folder: 3 blobs');
    expect(readdirSync(folder).filter((name) => /^catalog\.sqlite\.damaged-\d+$/.test(name))).toHaveLength(1);
    const catalog = open(folder, false);
    expect(catalog.totals()).toMatchObject({ spooled: 3 });
    catalog.close();
  });
});

test('damage that the start does not meet is told by the first reading that does', () => {
  const folder = temporaryFolder();
  const names = Array.from({ length: 500 }, (_, index) => spooled(String(index)));
  const catalog = open(folder, false);
  catalog.recordSpooled(names);
  catalog.close();
  const path = join(folder, 'catalog.sqlite');
  rotPage(path, 'content');
  const again = open(folder, false);
  expect(again.totals()).toMatchObject({ spooled: 500 });
  expect(() => names.map(({ versionHash }) => again.find(versionHash))).toThrow(
    expect.objectContaining({ code: 'catalog/damaged', message: expect.stringContaining(path) }),
  );
  again.close();
});

test('a damaged catalog and damaged rows at once: rebuild reads what it can, and goes on', async () => {
  const folder = await archiveFolder();
  rotPage(join(folder, 'catalog.sqlite'), 'content');
  rotPage(join(folder, 'blobs', 'small.sqlite'), 'root');
  const { stdout, stderr } = await cli(['rebuild'], { HOLDFAST_DATA_DIR: folder });
  expect(stdout).toMatch(/the data folder: [1-3] blobs/);
  expect(stderr).toContain('rows of a damaged file of small blobs were taken over');
});

test('a catalog that is whole is left as it is by rebuild', async () => {
  const folder = await archiveFolder();
  expect((await cli(['rebuild'], { HOLDFAST_DATA_DIR: folder })).code).toBe(0);
  expect(readdirSync(folder).filter((name) => name.includes('damaged'))).toEqual([]);
  expect(existsSync(join(folder, 'catalog.sqlite'))).toBe(true);
});
