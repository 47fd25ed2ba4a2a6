import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BundleFile } from '../../src/bundle/bundle-file.ts';
import { testOnLinux } from '../promised.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { temporaryParent } from '../temporary-parent.ts';

const NO_RESERVE = { path: temporaryParent(), reservedBytes: async () => 0 };

test('a link at the path of an unfinished bundle is not followed', async () => {
  const folder = temporaryFolder();
  const victim = join(folder, 'archiver-key');
  writeFileSync(victim, 'a key');
  const path = join(folder, 'blobs.car');
  symlinkSync(victim, `${path}.part`);
  await expect(BundleFile.open(path, NO_RESERVE)).rejects.toMatchObject({ code: 'bundle/unwritable' });
  expect(readFileSync(victim, 'utf8')).toBe('a key');
});

test('a path that is no file is reported, and nothing waits for it', async () => {
  const path = join(temporaryFolder(), 'blobs.car');
  execFileSync('mkfifo', [`${path}.part`]);
  await expect(BundleFile.open(path, NO_RESERVE)).rejects.toMatchObject({ code: 'bundle/unwritable' });
});

test('written bytes stay for the next run', async () => {
  const path = join(temporaryFolder(), 'blobs.car');
  const first = await BundleFile.open(path, NO_RESERVE);
  await first.write(Buffer.from('begun'));
  await first.close();
  const second = await BundleFile.open(path, NO_RESERVE);
  const isRight = (bytes: Uint8Array) => Buffer.from(bytes).toString() === 'begun';
  expect(await second.passesOver(5, isRight)).toBe(true);
  expect([await second.passesOver(1, isRight), second.keptBytes]).toEqual([false, 5]);
  await second.close();
});

test('a file that came to lie there during the export is not written over', async () => {
  const path = join(temporaryFolder(), 'blobs.car');
  const bundle = await BundleFile.open(path, NO_RESERVE);
  await bundle.write(Buffer.from('bundle'));
  writeFileSync(path, 'of somebody else');
  await expect(bundle.finish()).rejects.toMatchObject({ code: 'bundle/exists' });
  await bundle.close();
  expect([readFileSync(path, 'utf8'), readFileSync(`${path}.part`, 'utf8')]).toEqual(['of somebody else', 'bundle']);
});

describe('a bundle that its volume has no room for', () => {
  const EXBIBYTE = 2 ** 60;
  const path = () => join(temporaryFolder(), 'blobs.car');

  test('is refused before it is written, and says how much is missing', async () => {
    const bundle = await BundleFile.open(path(), NO_RESERVE);
    await expect(bundle.begin(EXBIBYTE)).rejects.toMatchObject({
      code: 'bundle/unwritable',
      message: expect.stringMatching(/needs 1,099,511,627,776 MiB more, and the volume can give [\d,]+ MiB\.$/),
    });
    await expect(bundle.begin(1)).resolves.toBe(bundle);
    await bundle.close();
  });

  test('needs no room for what an earlier run left', async () => {
    const file = path();
    writeFileSync(`${file}.part`, 'begun');
    truncateSync(`${file}.part`, EXBIBYTE / 2 ** 20);
    const bundle = await BundleFile.open(file, { path: dirname(file), reservedBytes: async () => EXBIBYTE });
    await expect(bundle.begin(EXBIBYTE / 2 ** 20)).resolves.toBe(bundle);
    await bundle.close();
  });

  test('takes nothing of what the archive on the same volume needs, neither at first nor later', async () => {
    const file = path();
    let reserved = EXBIBYTE;
    const reserve = { path: dirname(file), reservedBytes: async () => reserved };
    const bundle = await BundleFile.open(file, reserve);
    await expect(bundle.begin(1)).rejects.toMatchObject({ details: { neededBytes: 1, freeBytes: 0 } });
    reserved = 0;
    await bundle.begin(1);
    await bundle.write(Buffer.from('a'));
    // Blobs came meanwhile.
    reserved = EXBIBYTE;
    await expect(bundle.close()).rejects.toMatchObject({ code: 'bundle/unwritable' });
    expect(readFileSync(`${file}.part`, 'utf8')).toBe('');
  });

  testOnLinux('takes all of a volume on which the archive is not', async () => {
    const bundle = await BundleFile.open(path(), { path: '/proc', reservedBytes: async () => EXBIBYTE });
    await expect(bundle.begin(1)).resolves.toBe(bundle);
    await bundle.close();
  });
});
