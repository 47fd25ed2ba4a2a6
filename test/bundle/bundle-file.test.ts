import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BundleFile } from '../../src/bundle/bundle-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

test('a link at the path of an unfinished bundle is not followed', async () => {
  const folder = temporaryFolder();
  const victim = join(folder, 'archiver-key');
  writeFileSync(victim, 'a key');
  const path = join(folder, 'blobs.car');
  symlinkSync(victim, `${path}.part`);
  await expect(BundleFile.open(path)).rejects.toMatchObject({ code: 'bundle/unwritable' });
  expect(readFileSync(victim, 'utf8')).toBe('a key');
});

test('a path that is no file is reported, and nothing waits for it', async () => {
  const path = join(temporaryFolder(), 'blobs.car');
  execFileSync('mkfifo', [`${path}.part`]);
  await expect(BundleFile.open(path)).rejects.toMatchObject({ code: 'bundle/unwritable' });
});

test('written bytes stay for the next run', async () => {
  const path = join(temporaryFolder(), 'blobs.car');
  const first = await BundleFile.open(path);
  await first.write(Buffer.from('begun'));
  await first.close();
  const second = await BundleFile.open(path);
  const isRight = (bytes: Uint8Array) => Buffer.from(bytes).toString() === 'begun';
  expect(await second.passesOver(5, isRight)).toBe(true);
  expect([await second.passesOver(1, isRight), second.keptBytes]).toEqual([false, 5]);
  await second.close();
});

test('a file that came to lie there during the export is not written over', async () => {
  const path = join(temporaryFolder(), 'blobs.car');
  const bundle = await BundleFile.open(path);
  await bundle.write(Buffer.from('bundle'));
  writeFileSync(path, 'of somebody else');
  await expect(bundle.finish()).rejects.toMatchObject({ code: 'bundle/exists' });
  await bundle.close();
  expect([readFileSync(path, 'utf8'), readFileSync(`${path}.part`, 'utf8')]).toEqual(['of somebody else', 'bundle']);
});
