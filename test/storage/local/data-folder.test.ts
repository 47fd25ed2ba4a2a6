import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseBlockHash } from '../../../src/core/blob/ids.ts';
import { announcedDaemon, DataFolder } from '../../../src/storage/local/data-folder.ts';
import { testOnLinux } from '../../promised.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const GENESIS = parseBlockHash('ab'.repeat(32));

async function claim(path: string): Promise<DataFolder> {
  const folder = await DataFolder.claim(path);
  onTestFinished(() => folder.release());
  return folder;
}

test('a folder is made when it is not there, and belongs to no chain yet', async () => {
  const folder = await claim(join(temporaryFolder(), 'new', 'data'));
  expect(await folder.boundChain()).toBeNull();
});

test('the chain it was bound to stays, for the next process too', async () => {
  const path = temporaryFolder();
  const first = await DataFolder.claim(path);
  await first.bindTo(GENESIS);
  await first.release();
  expect(await (await claim(path)).boundChain()).toBe(GENESIS);
  expect(JSON.parse(readFileSync(join(path, 'holdfast.json'), 'utf8'))).toEqual({
    format: 'holdfast',
    version: 1,
    layout: 'holdfast',
    chain: { genesis: GENESIS },
    local: { mode: 'keep' },
  });
});

test('a folder whose disk gives its marker no more belongs to the same chain, so that fetching goes on', async () => {
  const path = temporaryFolder();
  const first = await DataFolder.claim(path);
  await first.bindTo(GENESIS);
  await first.release();
  const [bound, fresh] = [await claim(path), await claim(temporaryFolder())];
  await fresh.bindTo(GENESIS);
  expect(await bound.boundChain()).toBe(GENESIS);
  for (const { path: below } of [bound, fresh]) {
    rmSync(join(below, 'holdfast.json'));
    // A folder cannot be read as a file, not even by root.
    mkdirSync(join(below, 'holdfast.json'));
  }
  expect(await bound.boundChain()).toBe(GENESIS);
  expect(await fresh.boundChain()).toBe(GENESIS);
});

test('a folder whose address cannot be deleted is released all the same', async () => {
  const path = temporaryFolder();
  const first = await DataFolder.claim(path);
  // A folder in its place is as little deleted as a file on a disk that fails.
  mkdirSync(join(path, 'daemon.json'));
  await expect(first.release()).rejects.toThrow('daemon.json');
  rmdirSync(join(path, 'daemon.json'));
  await claim(path);
});

test('a second claim is refused while the first stands, and says who holds the folder', async () => {
  const path = temporaryFolder();
  const first = await claim(path);
  await expect(DataFolder.claim(path)).rejects.toMatchObject({
    code: 'storage/in-use',
    message: `The data folder ${path} is in use by another process.`,
  });
  await first.announce({ url: 'http://127.0.0.1:1234', emulatedNode: null, adminSocket: null });
  await expect(DataFolder.claim(path)).rejects.toMatchObject({
    code: 'storage/in-use',
    message: `The data folder ${path} is in use by process ${process.pid} (http://127.0.0.1:1234).`,
    hint: expect.stringContaining('HOLDFAST_DATA_DIR'),
  });
});

test('after a release the folder can be claimed, and no daemon is announced any more', async () => {
  const path = temporaryFolder();
  const first = await DataFolder.claim(path);
  await first.announce({ url: 'http://127.0.0.1:1234', emulatedNode: null, adminSocket: null });
  expect(await announcedDaemon(path)).toMatchObject({ pid: process.pid, url: 'http://127.0.0.1:1234' });
  await first.release();
  expect(await announcedDaemon(path)).toBeNull();
  await claim(path);
});

test('a marker that this version cannot read is refused, not overwritten', async () => {
  const path = temporaryFolder();
  const folder = await claim(path);
  for (const text of ['not json', '{}', '{"format":"holdfast","version":2,"layout":"holdfast","chain":{}}']) {
    writeFileSync(join(path, 'holdfast.json'), text);
    await expect(folder.boundChain()).rejects.toMatchObject({ code: 'storage/unknown-format' });
    expect(readFileSync(join(path, 'holdfast.json'), 'utf8')).toBe(text);
  }
});

testOnLinux('a folder that nobody can make is refused, not tried for ever', async () => {
  await expect(DataFolder.claim('/proc/holdfast/data')).rejects.toMatchObject({
    code: expect.stringMatching(/^storage\//),
    message: expect.stringContaining('/proc/holdfast/data'),
  });
});

test('a path that cannot be a folder says so, with the path and what to do', async () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, '');
  await expect(DataFolder.claim(join(path, 'data'))).rejects.toMatchObject({
    code: expect.stringMatching(/^storage\//),
    message: expect.stringContaining(join(path, 'data')),
    hint: expect.stringMatching(/\w/),
  });
});

test('asking for a folder that no daemon made finds none, and makes none', async () => {
  const path = temporaryFolder();
  expect(await DataFolder.claimExisting(join(path, 'nothing'))).toBeNull();
  mkdirSync(join(path, 'empty'));
  expect(await DataFolder.claimExisting(join(path, 'empty'))).toBeNull();
  expect(readdirSync(path)).toEqual(['empty']);
});

test('an announcement that was torn by a crash counts as none', async () => {
  const path = temporaryFolder();
  writeFileSync(join(path, 'daemon.json'), '{"pid":12,"ur');
  expect(await announcedDaemon(path)).toBeNull();
});
