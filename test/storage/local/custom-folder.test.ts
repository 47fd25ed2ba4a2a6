import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { customPath } from '../../../src/storage/custom-store.ts';
import { CustomFolder } from '../../../src/storage/local/custom-folder.ts';
import { NEVER } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { describeCustomStore } from '../custom-store-conformance.ts';

describeCustomStore('a folder', async () => {
  const path = temporaryFolder();
  return {
    store: new CustomFolder(path),
    damage: (name, bytes) => writeFile(join(path, customPath(name)), bytes),
  };
});

test('a folder leaves out what else lies there', async () => {
  const path = temporaryFolder();
  await mkdir(join(path, 'custom', 'notes', 'more'), { recursive: true });
  await mkdir(join(path, 'custom', 'aa'.repeat(32), 'bb'.repeat(32)), { recursive: true });
  await writeFile(join(path, 'custom', 'aa'.repeat(32), 'half-written'), 'x');
  await writeFile(join(path, 'custom', 'cc'.repeat(32)), 'x');
  expect(await Array.fromAsync(new CustomFolder(path).listCustom(null, NEVER))).toEqual([]);
});
