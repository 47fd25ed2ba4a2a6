import { mkdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseVersionHash } from '../../../src/core/blob/ids.ts';
import { archiverIdIn } from '../../../src/storage/local/archiver-id.ts';
import { CustomFolder } from '../../../src/storage/local/custom-folder.ts';
import { DataFolder } from '../../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../../src/storage/local/local-store.ts';
import { RecordFolder } from '../../../src/storage/local/record-folder.ts';
import { customPath, listBlobs, readText } from '../../../src/storage/object-store.ts';
import { parseRecordPath } from '../../../src/storage/record-path.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { ENTRIES } from './entries.ts';

const BLOB = sampleBlob('under its name', 80_000);
const OTHER = sampleBlob('beside it', 80_000);
const RECORD = parseRecordPath('audit/0123456789abcdef/one.json');
const CUSTOM = { versionHash: BLOB.versionHash, keccak: parseVersionHash(OTHER.versionHash) };
const HERE = process.cwd();

/** A promise that came to its end, well or not; what hangs fails the test by its time. */
const ended = async (work: Promise<unknown>) =>
  await work.then(
    () => 'done',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

describe.each(Object.entries(ENTRIES))('%s in the data folder', (_, make) => {
  test('under the name of a blob hangs nothing, and is replaced by the blob', async () => {
    onTestFinished(() => process.chdir(HERE));
    const folder = temporaryFolder();
    const store = await LocalStore.open(folder);
    onTestFinished(() => store.close());
    await store.put(OTHER, 'replace', NEVER);
    const path = join(folder, 'blobs', BLOB.hashType, BLOB.versionHash.slice(0, 2), BLOB.versionHash);
    mkdirSync(dirname(path), { recursive: true });
    await make(path);
    // Four of them would take every thread that the process has for files.
    const reads = await Promise.allSettled(Array.from({ length: 8 }, () => store.get(nameOf(BLOB), NEVER)));
    for (const read of reads) {
      if (read.status === 'rejected') expect(read.reason).toMatchObject({ code: 'storage/fault' });
      else expect(read.value?.length).not.toBe(BLOB.bytes.length);
    }
    expect((await readFile('/dev/null')).length).toBe(0);
    const listed = await Array.fromAsync(listBlobs(store, NEVER));
    expect(listed.map(({ versionHash }) => versionHash)).toContain(OTHER.versionHash);
    await store.put(BLOB, 'replace', NEVER);
    expect(Buffer.from((await store.get(nameOf(BLOB), NEVER)) ?? '')).toEqual(Buffer.from(BLOB.bytes));
  });

  test('under the name of a record, of custom bytes or of a small file hangs nothing', async () => {
    onTestFinished(() => process.chdir(HERE));
    const folder = temporaryFolder();
    const records = await RecordFolder.open(folder);
    const custom = new CustomFolder(folder);
    const claimed = await DataFolder.claim(folder);
    onTestFinished(() => claimed.release());
    const names = [RECORD, customPath(CUSTOM), 'holdfast.json', 'archiver-id'];
    for (const name of names) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      await make(join(folder, name));
    }
    const asked = [
      readText(records, RECORD, NEVER),
      custom.get(CUSTOM, NEVER),
      claimed.boundChain(),
      archiverIdIn(folder),
    ];
    const outcomes = await Promise.all(asked.map(ended));
    expect(outcomes.slice(2).every((outcome) => outcome.includes(folder))).toBe(true);
    for (const name of names) rmSync(join(folder, name), { recursive: true, force: true });
  });
});

test.each(['lock.sqlite', 'blobs/small.sqlite', 'blobs/small.sqlite-wal'])(
  'a FIFO as %s is named, and hangs nothing',
  async (name) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'blobs'));
    await ENTRIES['a FIFO']?.(join(folder, name));
    const open = async () => {
      const claimed = await DataFolder.claim(folder);
      await claimed.release();
      await (await LocalStore.open(folder)).close();
    };
    expect(await ended(open())).toContain(name);
  },
);
