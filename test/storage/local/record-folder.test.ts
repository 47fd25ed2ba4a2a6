import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RecordFolder } from '../../../src/storage/local/record-folder.ts';
import { parseRecordPath, recordPathOrNull } from '../../../src/storage/record-path.ts';
import { NEVER } from '../../sample-blobs.ts';

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'holdfast-records-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

test('a folder keeps its records over a restart, and leaves out files that are no records', async () => {
  const path = await folder();
  const record = parseRecordPath('audit/a/1.json');
  await (await RecordFolder.open(path)).put(record, '{}', 'replace', NEVER);
  await writeFile(join(path, 'audit', 'a', 'notes.txt'), 'mine');
  const again = await RecordFolder.open(path);
  expect(await Array.fromAsync(again.list('audit/', NEVER))).toEqual([{ path: record, sizeBytes: 2 }]);
});

test.each([
  '',
  'audit',
  'audit/.json',
  'audit/../x.json',
  'audit/a/../../x.json',
  '/audit/a.json',
  'audit//a.json',
  'audit/a/.hidden.json',
  'audit/a b.json',
  'blobs/a.json',
  'audit/a.txt',
  `audit/${'a'.repeat(600)}.json`,
])('%j is no path of a record', (text) => {
  expect(() => parseRecordPath(text)).toThrow(/is no path of a record/);
  expect(recordPathOrNull(text)).toBeNull();
});
