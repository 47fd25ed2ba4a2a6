import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DataFolder } from '../../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { openCatalog } from '../../catalog/catalog-in-folder.ts';
import { testWhere } from '../../promised.ts';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Root alone can run a command as another user. */
const testAsRoot = testWhere(process.getuid?.() === 0, 'this user is not root');

const NOBODY = 65_534;

/** A folder below one that everybody may enter, as `/var/lib` is; the process makes files for everybody. */
function placeForAll(): string {
  const above = temporaryFolder();
  chmodSync(above, 0o755);
  const before = process.umask(0o022);
  onTestFinished(() => {
    process.umask(before);
  });
  return join(above, 'data');
}

async function used(folder: string): Promise<DataFolder> {
  const claimed = await DataFolder.claim(folder);
  const store = await LocalStore.open(folder);
  await store.put(sampleBlob('row', 100), 'replace', NEVER);
  await store.put(sampleBlob('file', 100_000), 'replace', NEVER);
  await claimed.announce({ url: 'http://127.0.0.1:1', emulatedNode: null, adminSocket: null });
  openCatalog({ folder });
  onTestFinished(async () => {
    await store.close();
    await claimed.release();
  });
  return claimed;
}

/** Permissions of every user but the owner on any path in the folder. */
function openTo(folder: string): string[] {
  return [
    folder,
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ].filter((path) => (lstatSync(path).mode & 0o077) !== 0);
}

describe('the data folder', () => {
  test('is its owner’s alone, with everything in it', async () => {
    const folder = placeForAll();
    const claimed = await used(folder);
    expect(openTo(folder)).toEqual([]);
    expect(claimed.openToOthers).toEqual([]);
  });

  test('is made so where it was made before, for everybody', async () => {
    const folder = placeForAll();
    mkdirSync(join(folder, 'blobs'), { recursive: true });
    const made = await used(folder);
    await made.release();
    for (const path of [folder, join(folder, 'blobs')]) chmodSync(path, 0o755);
    for (const name of ['catalog.sqlite', 'catalog.sqlite-shm', 'lock.sqlite', 'blobs/small.sqlite'])
      chmodSync(join(folder, name), 0o644);
    const claimed = await DataFolder.claim(folder);
    onTestFinished(() => claimed.release());
    expect(openTo(folder)).toEqual([]);
  });

  testAsRoot('is refused to root where its archive belongs to another user, and nothing is left there', async () => {
    const folder = placeForAll();
    mkdirSync(folder);
    chownSync(folder, NOBODY, NOBODY);
    // An empty folder of another user is taken: no archive in it is shut out.
    await (await DataFolder.claim(folder)).release();
    await (await DataFolder.claim(folder)).release();
    const refused = async () => {
      const before = readdirSync(folder);
      await expect(DataFolder.claim(folder)).rejects.toMatchObject({
        code: 'storage/unusable-folder',
        message: `The data folder ${folder} belongs to the user ${NOBODY}, who could not open what root would leave there.`,
        hint: expect.stringContaining(`setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups holdfast`),
      });
      expect(readdirSync(folder)).toEqual(before);
    };
    // The catalog was moved away, to be made again.
    chownSync(join(folder, 'lock.sqlite'), NOBODY, NOBODY);
    await refused();
    // The archive came out of a backup, which has no lock.
    renameSync(join(folder, 'lock.sqlite'), join(folder, 'catalog.sqlite'));
    await refused();
    chownSync(join(folder, 'catalog.sqlite'), 0, 0);
    await (await DataFolder.claim(folder)).release();
  });

  testAsRoot('has no link of its user followed by root, who looks whose a new file is', async () => {
    const folder = placeForAll();
    mkdirSync(folder);
    const victim = join(temporaryFolder(), 'victim');
    writeFileSync(victim, 'a key');
    symlinkSync(victim, join(folder, `owner-of-new-file.${process.pid}`));
    writeFileSync(join(folder, 'lock.sqlite'), '');
    for (const path of [folder, join(folder, 'lock.sqlite')]) chownSync(path, NOBODY, NOBODY);
    await expect(DataFolder.claim(folder)).rejects.toMatchObject({ code: 'storage/unusable-folder' });
    expect(readFileSync(victim, 'utf8')).toBe('a key');
  });

  testAsRoot('gives another user nothing to lock', async () => {
    const folder = placeForAll();
    await used(folder);
    // Also where he comes past the folder: the files themselves are closed.
    chmodSync(folder, 0o755);
    for (const name of ['lock.sqlite', 'catalog.sqlite', 'catalog.sqlite-shm']) {
      const { status } = spawnSync('cat', [join(folder, name)], { uid: NOBODY, gid: NOBODY, stdio: 'ignore' });
      expect(status).not.toBe(0);
    }
  });
});
