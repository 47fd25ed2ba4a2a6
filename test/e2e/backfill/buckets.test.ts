import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeHex } from '../../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../../src/core/blob/ids.ts';
import type { Devnode } from '../../../src/devnode/index.ts';
import { listBlobs, listDocuments } from '../../../src/storage/object-store.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { hashWith, nobleHasher } from '../../../src/verify/hasher.ts';
import { verifyBlob } from '../../../src/verify/verified-blob.ts';
import { NEVER, sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { newBucket } from '../../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode, stop } from '../archive-process.ts';
import { s3Environment } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { backfill, eventsIn, folderOf, type OldBlob, passTime, publishBlocks, startBackfill } from './history.ts';

/** Eight of these are more than a job may send at once: the limit of its bandwidth keeps it at work for half a minute. */
const SLOW_BYTES = 500_000;

async function fill(options: S3Options, blobs: readonly OldBlob[]): Promise<void> {
  const store = await S3Store.open(options);
  for (const { versionHash, hashType, bytes } of blobs) {
    const blob = verifyBlob({ versionHash: parseVersionHash(versionHash), hashType, bytes }, nobleHasher);
    if (blob === null) throw new Error('a blob of this test is not what it says');
    await store.put(blob, 'replace', NEVER);
  }
  await store.close();
}

async function oldBlobs(label: string, sizeBytes = 200): Promise<{ node: Devnode; blobs: OldBlob[]; from: string[] }> {
  const node = await startNode();
  const blobs = publishBlocks(node, label, 2, 4, sizeBytes);
  passTime(node);
  return { node, blobs, from: ['--from-height', String(blobs[0]?.height)] };
}

describeWithServers('buckets', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server.stop());

  test('serve as sources, in either layout, also when the layout is not said', async () => {
    const { node, blobs, from } = await oldBlobs('from buckets');
    const [ours, theirs] = [await newBucket(server), await newBucket(server, { layout: 'sentinel' })];
    await fill(ours, blobs.slice(0, 5));
    await fill(theirs, blobs.slice(5));
    const { HOLDFAST_S3_BUCKET: _, ...env } = (await s3Environment(server)).env;
    const both = ['--source', `s3=${ours.bucket}`, '--source', `s3=${theirs.bucket}?layout=sentinel`];
    const { code, report } = await backfill({ node, dataDir: temporaryFolder(), env }, ...from, ...both);
    expect(report.sources).toMatchObject([{ gave: 5 }, { gave: 3 }]);
    expect(code).toBe(0);
    const unsaid = ['--source', `s3=${theirs.bucket}`, '--source', `s3=${ours.bucket}`];
    expect(await backfill({ node, dataDir: temporaryFolder(), env }, ...from, ...unsaid)).toMatchObject({ code: 0 });
  });

  test('serve as the home of a job with an empty folder: proven there, with records; killed, the next job asks the bucket first', async () => {
    const { node, blobs, from } = await oldBlobs('a job', SLOW_BYTES);
    const { env, options } = await s3Environment(server);
    const job = { ...env, HOLDFAST_LOCAL_MODE: 'cache' };
    const words = [...from, '--source', `dir=${folderOf(blobs)}`];
    const killed = startBackfill(
      { node, dataDir: temporaryFolder(), env: job },
      ...words,
      '--bytes-per-second',
      '65536',
    );
    const store = await S3Store.open(options);
    const count = async () => {
      let found = 0;
      for await (const _ of listBlobs(store, NEVER)) found += 1;
      return found;
    };
    await eventually(async () => expect(await count()).toBeGreaterThan(0));
    killed.kill('SIGKILL');
    await killed.ended;
    const before = await count();
    const { code, report } = await backfill({ node, dataDir: temporaryFolder(), env: job }, ...words);
    expect(code).toBe(0);
    // Objects in the bucket are indexed, or asked of it first: not fetched again, whichever comes sooner.
    expect(report.fetched).toBeLessThanOrEqual(blobs.length - before);
    expect(await count()).toBe(blobs.length);
    const records: string[] = [];
    for await (const { path } of listDocuments(store, 'occurrences/', NEVER)) records.push(path);
    expect(records).toHaveLength(blobs.length);
    for (const { versionHash, hashType, bytes } of blobs) {
      const found = await store.get({ versionHash: parseVersionHash(versionHash), hashType }, NEVER);
      expect(Buffer.compare(found ?? Buffer.alloc(0), bytes)).toBe(0);
    }
    await store.close();
    expect(eventsIn(killed.stdout.toString()).at(-1)?.event).not.toBe('report');
  });

  test('bytes of a custom commitment go there as well, under their own name', async () => {
    const node = await startNode({ dialect: 'svc' });
    const { env, options } = await s3Environment(server);
    const daemon = await startArchive({
      node,
      dataDir: temporaryFolder(),
      env: { ...env, HOLDFAST_NODE_DIALECT: 'svc' },
    });
    const bytes = sampleBytes('committed to by another hash', 70_000);
    node.submitBlob(bytes, { hashType: 'keccak256', versionHash: 'ab'.repeat(32) });
    node.mine(2);
    const store = await S3Store.open(options);
    const keccak = parseVersionHash(encodeHex(hashWith(nobleHasher, 'keccak256', bytes)));
    await eventually(async () => {
      const found = await store.get({ versionHash: parseVersionHash('ab'.repeat(32)), keccak }, NEVER);
      expect(Buffer.compare(found ?? Buffer.alloc(0), bytes)).toBe(0);
    });
    await store.close();
    await stop(daemon);
  });

  test('a bucket of another chain: exit code 2, and nothing is written', async () => {
    const { env } = await s3Environment(server);
    const { node, blobs, from } = await oldBlobs('chain one');
    const source = ['--source', `dir=${folderOf(blobs)}`];
    expect(await backfill({ node, dataDir: temporaryFolder(), env }, ...from, ...source)).toMatchObject({ code: 0 });
    const other = await startNode({ seed: 'chain two' });
    const run = startBackfill({ node: other, dataDir: temporaryFolder(), env });
    expect(await run.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('belongs to the chain') });
  });
});
