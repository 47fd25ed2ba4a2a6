import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { HASH_TYPES } from '../../src/core/blob/ids.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type RunningArchive, startArchiveHere, startNode, stop, untilStored } from './archive-process.ts';
import { countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';
import { holdfastHere } from './holdfast-here.ts';

/** Origin: a real node, release 5.1.1 in regtest (test/vectors/chain-5.1.json.gz). Bytes are SHAKE256(label). */
const recorded = z
  .object({
    blobs: z.array(
      z.object({ label: z.string(), size: z.int(), hashType: z.enum(HASH_TYPES), versionhash: z.string() }),
    ),
  })
  .parse(
    JSON.parse(gunzipSync(readFileSync(new URL('../vectors/chain-5.1.json.gz', import.meta.url))).toString()),
  ).blobs;
const BLOBS = [...new Map(recorded.map((blob) => [blob.versionhash, blob])).values()];

async function expectAllServed({ client }: RunningArchive): Promise<void> {
  for (const { label, size, versionhash } of BLOBS) {
    const bytes = Buffer.from(sampleBytes(label, size));
    const raw = await client.blob(versionhash);
    expect(raw.status).toBe(200);
    expect(raw.headers.get('content-length')).toBe(String(size));
    expect(raw.body.equals(bytes)).toBe(true);
    expect((await client.hexOf(versionhash)) === bytes.toString('hex')).toBe(true);
  }
}

test('the blobs of a real chain go in, and come out byte for byte under the names a real node gave them', async () => {
  expect(BLOBS).toHaveLength(22);
  const node = await startNode({ seedRecordedBlobs: true });
  const gets = countGets(node);
  const dataDir = temporaryFolder();
  const daemon = await startArchiveHere({ dataDir, node });
  await untilStored(daemon, 22);
  await expectAllServed(daemon);
  expect(gets.count).toBe(22);

  const { client } = daemon;
  // Blobs come from the list as well: the walk of the chain may end after them.
  const status = await eventually(async () => {
    expect((await client.readiness()).status).toBe(200);
    const told = await client.status();
    expect(told).toMatchObject({ emulated: false, node: { reachable: true, height: 121 }, conditions: [] });
    return told;
  });
  expect(status.content.storedBytes).toBe(BLOBS.reduce((sum, { size }) => sum + size, 0));

  for (const { versionhash, hashType, size } of BLOBS) {
    expect(await client.record(versionhash)).toMatchObject({
      versionHash: versionhash,
      hashType,
      sizeBytes: size,
      state: 'stored',
      replicas: [{ backend: 'local', state: 'good' }],
    });
  }
  const other = BLOBS.filter(({ hashType }) => hashType === 'blake2s256');
  for (const { versionhash, size } of other) {
    expect((await client.blob(`0x01${versionhash}`)).body).toHaveLength(size);
  }
  const [keccak] = BLOBS.filter(({ hashType }) => hashType === 'keccak256');
  await eventually(async () => expect((await client.blob(`01${keccak?.versionhash}`)).status).toBe(404));

  const seen: string[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page = await client.page(`order=oldest&limit=5${after === '' ? '' : `&after=${after}`}`);
    seen.push(...page.blobs.map(({ versionHash }) => versionHash));
    after = page.next;
  }
  expect(seen.sort()).toEqual(BLOBS.map(({ versionhash }) => versionhash).sort());
});

test('a catalog that was lost is made again from the folder: nothing is fetched, everything is served', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const first = await startArchiveHere({ dataDir, node });
  await untilStored(first, 22);
  expect((await stop(first)).code).toBe(143);
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `catalog.sqlite${suffix}`), { force: true });

  const gets = countGets(node);
  const second = await startArchiveHere({ dataDir, node });
  await untilStored(second, 22);
  await expectAllServed(second);
  expect(gets.count).toBe(0);
  // The rows are there before the catalog counts as whole, and before the chain is walked again.
  await eventually(async () => expect(await second.client.readiness()).toMatchObject({ status: 200, conditions: [] }));
});

test('an archived blob is served though the node is gone, and a command without a daemon reads the folder', async () => {
  const node = await startNode({ seedRecordedBlobs: true });
  const dataDir = temporaryFolder();
  const first = await startArchiveHere({ dataDir, node });
  await untilStored(first, 22);
  await stop(first);
  await node.close();
  const second = await startArchiveHere({ dataDir, node });
  await expectAllServed(second);
  expect((await second.client.blob('ab'.repeat(32))).status).toBe(503);
  await stop(second);

  const [blob] = BLOBS;
  const output = join(temporaryFolder(), 'blob');
  const ended = await holdfastHere([
    'get',
    blob?.versionhash ?? '',
    '-o',
    output,
    '--data-dir',
    dataDir,
    '--http-port',
    '9',
  ]);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(output).equals(sampleBytes(blob?.label ?? '', blob?.size ?? 0))).toBe(true);
});
