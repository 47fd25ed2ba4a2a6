import { beforeEach, expect, test } from 'vitest';
import { beliefsOf, expectNotBelieved, expectNotGivenUp } from '../../http/live-clients.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type RunningArchive, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { LIES, LyingServer } from '../backends/lying-server.ts';
import { eventually } from '../eventually.ts';
import { startReaderHere } from './reader-process.ts';

const LABEL = 'read without a catalog, out of a bucket that lies';
const SIZE_BYTES = 200_000;
const BYTES = sampleBytes(LABEL, SIZE_BYTES);
const ABSENT = 'ab'.repeat(32);
/** One that never answers has tests of its own: it takes long. */
const ANSWERED = LIES.filter((lie) => lie !== 'hang');

let bucket: LyingServer;
let hash: string;

/** A blob that an archiver has brought into the bucket. */
beforeEach(async () => {
  const node = await startNode();
  bucket = await LyingServer.start();
  hash = node.submitLabelled({ label: LABEL, sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash;
  node.mine(2);
  const env = { ...bucket.environment, HOLDFAST_LOCAL_MODE: 'cache' };
  const archiver = await startArchiveHere({ dataDir: temporaryFolder(), node, env });
  await untilStored(archiver, 1);
  archiver.kill('SIGTERM');
  await archiver.ended;
});

/** An honest one that follows another chain of the same kind: it has never heard of the blob. */
async function ignorantArchiver(): Promise<RunningArchive> {
  const node = await startNode();
  node.mine(2);
  const archiver = await startArchiveHere({ dataDir: temporaryFolder(), node });
  await eventually(async () => {
    expect((await archiver.client.get(`/v1/blobs/${ABSENT}`)).status).toBe(404);
  });
  return archiver;
}

test.each(ANSWERED)('a bucket that does this is never believed, and misleads no reader: %s', async (lie) => {
  const reader = await startReaderHere(bucket.environment);
  const read = () => reader.client.blob(hash);
  await eventually(async () => expect((await read()).body.equals(BYTES)).toBe(true));
  bucket.lie = lie;
  for (let round = 0; round < 3; round += 1) {
    for (const path of [`/v1/blobs/${hash}`, `/vh/${hash}`, `/get/0x00${hash}`, `/v1/blobs/${hash}/proof`]) {
      const { status, body } = await reader.client.get(path);
      expect([path, status, body.length > 0]).toEqual([path, 503, true]);
    }
    expectNotGivenUp(await beliefsOf(reader.client.url, hash), BYTES);
    expectNotBelieved(await beliefsOf(reader.client.url, ABSENT));
  }
  bucket.lie = null;
  await eventually(async () => expect((await read()).body.equals(BYTES)).toBe(true));
});

test('an archiver that says "absent" is not believed while a copy under that name is damaged, or a bucket does not answer', async () => {
  const archiver = await ignorantArchiver();
  const reader = await startReaderHere({ ...bucket.environment, HOLDFAST_ARCHIVER_URL: archiver.client.url });
  await eventually(async () => expect((await reader.client.blob(hash)).status).toBe(200));
  await eventually(async () => expect((await reader.client.get(`/v1/blobs/${ABSENT}`)).status).toBe(404));
  for (const lie of ['corrupt', '500'] as const) {
    bucket.lie = lie;
    const { status } = await reader.client.get(`/v1/blobs/${hash}`);
    expect([lie, status]).toEqual([lie, 503]);
  }
  // A blob that the bucket says it has not got, and the archiver too, is absent.
  bucket.lie = null;
  await eventually(async () => expect((await reader.client.get(`/v1/blobs/${ABSENT}`)).status).toBe(404));
});
