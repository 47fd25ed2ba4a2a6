import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkReplicas } from '../../src/app/open-backends.ts';
import { learnsSenders, openBackendRules, openRule } from '../../src/app/open-rule.ts';
import { loadConfig } from '../../src/config/index.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { parseSenderScript } from '../../src/core/blob/sender.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const HASH = 'ab'.repeat(32);

async function listOf(text: string): Promise<string> {
  const file = join(temporaryFolder(), 'allowed');
  await writeFile(file, text);
  return file;
}

test('reads the names of the allow-list, with remarks and comments', async () => {
  const archiveAllowFile = await listOf(`# mine\n${HASH} the first batch\n\n01${'cd'.repeat(32)}\n`);
  const rule = await openRule({ archiveMaxBlobBytes: null, archiveAllowFile, archiveSenders: null });
  expect(rule.says).toBe('Only the 2 blobs of the allow-list are archived.');
  expect([HASH, 'cd'.repeat(32), 'ef'.repeat(32)].map((hash) => rule.leavesOut(parseVersionHash(hash), null))).toEqual([
    false,
    false,
    true,
  ]);
});

test('refuses a list that would archive nothing, one that cannot be read, and one with another word', async () => {
  const empty = await listOf('# nothing yet\n');
  const rejection = (archiveAllowFile: string) =>
    expect(openRule({ archiveMaxBlobBytes: null, archiveAllowFile, archiveSenders: null })).rejects;
  await rejection(empty).toMatchObject({ code: 'config/invalid', message: expect.stringContaining('names no blob') });
  await rejection(`${empty}.gone`).toMatchObject({ message: expect.stringContaining('cannot be read: ENOENT') });
  await rejection(await listOf('every blob\n')).toMatchObject({ message: expect.stringContaining('cannot be read') });
  // Beside a limit, an empty list is nothing more than that: more names may follow.
  const beside = await openRule({ archiveMaxBlobBytes: 10, archiveAllowFile: empty, archiveSenders: null });
  expect(beside.leavesOut(parseVersionHash(HASH), 11)).toBe(true);
});

test('reads the senders whose blobs are archived, which are learned for it', async () => {
  const [one, two] = [`5120${'ab'.repeat(32)}`, `0014${'cd'.repeat(20)}`].map(parseSenderScript);
  const archiveSenders = `${one} ${String(two).toUpperCase()}`;
  const rule = await openRule({ archiveMaxBlobBytes: null, archiveAllowFile: null, archiveSenders });
  const leavesOut = (script: string) => rule.leavesOut(parseVersionHash(HASH), 1, [parseSenderScript(script)]);
  expect([leavesOut(String(one)), leavesOut(String(two)), leavesOut('51')]).toEqual([false, false, true]);
  expect([
    learnsSenders({ senders: 'off', archiveSenders }),
    learnsSenders({ senders: 'learn', archiveSenders: null }),
    learnsSenders({ senders: 'off', archiveSenders: null }),
  ]).toEqual([true, true, false]);
});

test.each(['bc1qaddress', '512', '51 nonsense', ' , '])('refuses the senders %j at the start', (given) => {
  const load = () =>
    loadConfig({ env: { HOLDFAST_ARCHIVE_SENDERS: given }, flags: {}, file: undefined, cwd: temporaryFolder() });
  expect(load).toThrow('HOLDFAST_ARCHIVE_SENDERS');
});

const settingsOf = (env: Readonly<Record<string, string>>) =>
  loadConfig({ env, flags: {}, file: undefined, cwd: temporaryFolder() }).values;

test('backends have rules of their own; one without a rule takes every blob', async () => {
  const HOLDFAST_IPFS_ALLOW_FILE = await listOf(HASH);
  const both = { HOLDFAST_S3_BUCKET: 'blobs', HOLDFAST_IPFS_API_URL: 'http://127.0.0.1:5001' };
  expect(await openBackendRules(settingsOf(both))).toEqual(new Map());
  const rules = await openBackendRules(
    settingsOf({ ...both, HOLDFAST_IPFS_ALLOW_FILE, HOLDFAST_IPFS_MAX_BLOB_BYTES: '64KiB' }),
  );
  expect([...rules].map(([id, { says }]) => [id, says])).toEqual([
    ['ipfs', 'Only blobs of at most 65536 bytes and the 1 blobs of the allow-list are replicated there.'],
  ]);
  const bucket = settingsOf({ ...both, HOLDFAST_S3_ALLOW_FILE: await listOf('# none\n') });
  await expect(openBackendRules(bucket)).rejects.toMatchObject({
    code: 'config/invalid',
    message: expect.stringMatching(
      /allowFile of the s3 store names no blob, so that nothing would be replicated there/,
    ),
  });
});

test('the start is refused, with what to do, unless as many backends as are required take every blob', () => {
  expect(() => checkReplicas(1, ['s3', 'ipfs'], ['ipfs'])).not.toThrow();
  expect(() => checkReplicas(2, ['s3', 'ipfs'], ['ipfs'])).toThrow(
    expect.objectContaining({
      code: 'config/invalid',
      message:
        'HOLDFAST_REPLICAS_REQUIRED is 2; backends that count for every blob: 1 (s3). A rule leaves blobs out at ipfs.',
      hint: expect.stringContaining('Configure more backends that take every blob'),
    }),
  );
  expect(() => checkReplicas(1, ['ipfs'], ['ipfs'])).toThrow('backends that count for every blob: 0 (none)');
});
