import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseVersionHash } from '../../../src/core/blob/ids.ts';
import { CustomFolder } from '../../../src/storage/local/custom-folder.ts';
import { customPath } from '../../../src/storage/object-store.ts';
import { NEVER } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { customName } from '../custom-conformance.ts';

test('a folder keeps what is damaged aside when it replaces it', async () => {
  const path = temporaryFolder();
  const folder = new CustomFolder(path);
  const custom = {
    ...customName(parseVersionHash('1a'.repeat(32)), Buffer.from('right')),
    bytes: Buffer.from('right'),
  };
  await folder.put(custom, 'replace', NEVER);
  await writeFile(join(path, customPath(custom)), 'rotten');
  await folder.put(custom, 'replace', NEVER);
  const [kept = ''] = await readdir(join(path, 'custom', 'damaged', custom.versionHash, custom.keccak));
  expect(await readFile(join(path, 'custom', 'damaged', custom.versionHash, custom.keccak, kept), 'utf8')).toBe(
    'rotten',
  );
  expect(Buffer.from((await folder.get(custom, NEVER)) ?? [])).toEqual(custom.bytes);
});

test('a folder leaves out what else lies there', async () => {
  const path = temporaryFolder();
  await mkdir(join(path, 'custom', 'notes', 'more'), { recursive: true });
  await mkdir(join(path, 'custom', 'aa'.repeat(32), 'bb'.repeat(32)), { recursive: true });
  await writeFile(join(path, 'custom', 'aa'.repeat(32), 'half-written'), 'x');
  await writeFile(join(path, 'custom', 'cc'.repeat(32)), 'x');
  expect(await Array.fromAsync(new CustomFolder(path).list(null, NEVER))).toEqual([]);
});
