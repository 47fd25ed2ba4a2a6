import { writeFileSync } from 'node:fs';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../../src/devnode/index.ts';
import { parseRecordPath } from '../../../src/storage/record-path.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { decodeOccurrenceRecord, verifyOccurrence } from '../../../src/verify/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { NEVER, sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type KuboServer, startKubo } from '../../servers/kubo-server.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { bareClient, damage } from '../../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type RunningArchive, startArchiveHere, startNode, untilStored } from '../archive-process.ts';
import { ipfsEnvironment, type Published, publish, s3Environment, untilDrained } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { HoldfastProcess } from '../holdfast-process.ts';
import { type RunningReader, startReader, startReaderHere, untilReady } from './reader-process.ts';

const ABSENT = 'ab'.repeat(32);
const PROOFS = z.object({ records: z.array(z.unknown()) });

describeWithServers('holdfast serve, on real backends', () => {
  let s3: S3Server;
  let kubo: KuboServer;
  let node: Devnode;
  let archiver: RunningArchive;
  let reader: RunningReader;
  let published: Published[];
  let bucket: S3Options;
  let both: Record<string, string>;
  let s3Only: Record<string, string>;

  beforeAllSharing(async (atEnd) => {
    [s3, kubo] = await Promise.all([startS3Server(), startKubo()]);
    atEnd(async () => Promise.all([s3.stop(), kubo.stop()]));
    node = await startNode({}, atEnd);
    const { options, env } = await s3Environment(s3);
    bucket = options;
    s3Only = env;
    both = { ...env, ...ipfsEnvironment(kubo) };
    archiver = await startArchiveHere({
      dataDir: temporaryFolder(atEnd),
      node,
      env: { ...both, HOLDFAST_FINALITY: 'depth:2', HOLDFAST_START_HEIGHT: '1' },
      atEnd,
    });
    published = publish(node, 'served without a catalog', 8);
    node.mine(3);
    await untilStored(archiver, 8);
    await untilDrained(archiver, ['s3', 'ipfs']);
    reader = await untilReady(await startReaderHere(both, atEnd));
  }, SERVER_START_MS);

  const contentOf = async (): Promise<string[]> => {
    const client = bareClient(s3);
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket.bucket }));
    client.destroy();
    return Contents.map(({ Key, ETag }) => `${Key} ${ETag}`);
  };
  const bytesOf = ({ label, sizeBytes }: Published) => Buffer.from(sampleBytes(label, sizeBytes));
  const withStore = async (work: (store: S3Store) => Promise<void>) => {
    const store = await S3Store.open(bucket);
    await work(store);
    await store.close();
  };

  test('the page is there for look-up and verification, and the window is not', async () => {
    const page = await reader.client.get('/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const path of ['/v1/window', '/v1/events']) {
      expect(await reader.client.problem(path)).toMatchObject({ status: 503, code: 'chain/not-walked' });
    }
  });

  test('gives every blob as the archiver does, by whatever route, and writes nothing', async () => {
    // The archiver writes these beside its blobs, a moment later.
    const records = async () => (await contentOf()).filter((key) => key.startsWith('occurrences/'));
    await eventually(async () => expect(await records()).toHaveLength(published.length));
    const before = await contentOf();
    for (const blob of published) {
      const [theirs, ours] = await Promise.all([
        archiver.client.blob(blob.versionHash),
        reader.client.blob(blob.versionHash),
      ]);
      expect(ours.status).toBe(200);
      expect(ours.body.equals(bytesOf(blob))).toBe(true);
      for (const name of ['etag', 'cache-control', 'content-type', 'accept-ranges', 'content-length']) {
        expect(ours.headers.get(name)).toBe(theirs.headers.get(name));
      }
      expect(await reader.client.hexOf(blob.versionHash)).toBe(bytesOf(blob).toString('hex'));
      expect((await reader.client.get(`/raw/vh/${blob.versionHash}`)).body.equals(bytesOf(blob))).toBe(true);
    }
    const [one] = published;
    const path = `/v1/blobs/${one?.versionHash}`;
    const part = await reader.client.get(path, { range: 'bytes=5-9' });
    expect([part.status, part.body.length]).toEqual([206, 5]);
    const tag = part.headers.get('etag') ?? '';
    expect((await reader.client.get(path, { 'if-none-match': tag })).status).toBe(304);
    const head = await fetch(`${reader.client.url}${path}`, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(one?.sizeBytes));
    expect(await contentOf()).toEqual(before);
  });

  test('gives the proofs that lie in the bucket, and they prove', async () => {
    await eventually(async () => {
      const [one] = published;
      const { status, body } = await reader.client.get(`/v1/blobs/${one?.versionHash}/proof`);
      expect(status, body.toString()).toBe(200);
      const [record] = PROOFS.parse(JSON.parse(body.toString())).records.map(decodeOccurrenceRecord);
      if (record === undefined || one === undefined) throw new Error('no record');
      expect(verifyOccurrence(bytesOf(one), record).ok).toBe(true);
    });
  });

  test('a record that was withdrawn, deleted or by a tombstone, is no proof', async () => {
    const [, blob] = published;
    const proof = () => reader.client.get(`/v1/blobs/${blob?.versionHash}/proof`);
    await eventually(async () => expect((await proof()).status).toBe(200));
    const [record] = PROOFS.parse(JSON.parse((await proof()).body.toString())).records.map(decodeOccurrenceRecord);
    if (record === undefined) throw new Error('no record');
    const stem = `occurrences/${record.hashType}/${record.versionHash}/${record.height}-${record.txid}-${record.vout}`;
    const tombstone = parseRecordPath(`${stem}.withdrawn.json`);
    const says = (blockHash: string) => JSON.stringify({ version: 1, withdrawn: true, blockHash });
    await withStore(async (store) => {
      await store.put({ path: tombstone, text: says(record.blockHash) }, 'replace', NEVER);
      expect(await reader.client.problem(`/v1/blobs/${blob?.versionHash}/proof`)).toMatchObject({ status: 503 });
      // The blob of another block: the record beside it was written again, and is right.
      await store.put({ path: tombstone, text: says('cd'.repeat(32)) }, 'replace', NEVER);
      expect((await proof()).status).toBe(200);
      // The archiver may be about to read back what it wrote: it puts a record that it misses then once more.
      await eventually(async () => {
        await store.delete(parseRecordPath(`${stem}.json`), NEVER);
        expect(await reader.client.problem(`/v1/blobs/${blob?.versionHash}/proof`)).toMatchObject({ status: 503 });
      });
    });
  });

  test('answers that need a catalog are 503, never a guess', async () => {
    const [one] = published;
    for (const path of [
      `/v1/blobs/${ABSENT}`,
      `/vh/${ABSENT}`,
      `/get/0x00${ABSENT}`,
      `/v1/blobs/${ABSENT}/proof`,
      `/v1/blobs/${one?.versionHash}/record`,
      '/v1/blobs',
      `/v1/transactions/${ABSENT}`,
      `/v1/transactions/${ABSENT}/data`,
      '/v1/blocks/1',
      `/v1/custom/${ABSENT}/${ABSENT}`,
      '/lastblock',
    ]) {
      const { status, headers, body } = await reader.client.get(path);
      expect([path, status]).toEqual([path, 503]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(body.toString()).not.toMatch(/^[0-9a-f]*$/);
    }
    const post = (path: string, body: unknown) =>
      fetch(`${reader.client.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect((await post('/check_vh', [one?.versionHash])).status).toBe(503);
    const call = await post('/', { id: 1, method: 'getnevmblobdata', params: [ABSENT] });
    expect([call.status, await call.json()]).toMatchObject([503, { error: { code: -32603 } }]);
    expect((await reader.client.get('/v1/blobs/xyz')).status).toBe(400);
  });

  test('a miss goes to the archiver where there is one: what only it has, and what it proves absent', async () => {
    // Another bucket: nothing is in it, as when the archiver has not replicated yet.
    const { env } = await s3Environment(s3);
    const behind = await untilReady(await startReaderHere({ ...env, HOLDFAST_ARCHIVER_URL: archiver.client.url }));
    for (const blob of published) {
      expect((await behind.client.blob(blob.versionHash)).body.equals(bytesOf(blob))).toBe(true);
    }
    const absent = { status: 404, code: 'blob/absent' };
    // The archiver has to read the node's list again, and says 503 when that takes long.
    await eventually(async () => expect(await behind.client.problem(`/v1/blobs/${ABSENT}`)).toMatchObject(absent));
    const [one] = published;
    expect((await behind.client.get(`/v1/blobs/${one?.versionHash}/proof`)).status).toBe(200);
    // Queries that take a catalog stand at a path of bytes: no ingress could route them apart.
    const record = await behind.client.get(`/v1/blobs/${one?.versionHash}/record`);
    const itself = await archiver.client.get(`/v1/blobs/${one?.versionHash}/record`);
    expect([record.status, JSON.parse(record.body.toString())]).toEqual([200, JSON.parse(itself.body.toString())]);
    await eventually(async () =>
      expect(await behind.client.problem(`/v1/blobs/${ABSENT}/record`)).toMatchObject(absent),
    );
    const lonely = await startReaderHere({ ...env, HOLDFAST_ARCHIVER_URL: 'http://127.0.0.1:9' });
    for (const path of ['', '/record']) {
      expect(await lonely.client.problem(`/v1/blobs/${one?.versionHash}${path}`)).toMatchObject({ status: 503 });
    }
  });

  test('a blob that an operator withholds is 451, also where it was served before, until it is revoked', async () => {
    const [, , blob] = published;
    const record = {
      format: 1,
      hashType: 'keccak256',
      versionHash: blob?.versionHash,
      reason: 'an order',
      at: '2026-01-01T00:00:00.000Z',
    };
    const path = parseRecordPath(`audit/someone/withheld/keccak256/${blob?.versionHash}.json`);
    expect((await reader.client.blob(blob?.versionHash ?? '')).status).toBe(200);
    await withStore(async (store) => {
      await store.put({ path, text: JSON.stringify({ ...record, revokedAt: null }) }, 'replace', NEVER);
      await eventually(async () => {
        const { status, body } = await reader.client.blob(blob?.versionHash ?? '');
        expect([status, body.includes('an order')]).toEqual([451, false]);
      });
      const ofBlob = `/v1/blobs/${blob?.versionHash}`;
      for (const taken of [`/vh/${blob?.versionHash}`, `${ofBlob}/proof`, `${ofBlob}/record`]) {
        expect([taken, (await reader.client.get(taken)).status]).toEqual([taken, 451]);
      }
      await store.put(
        { path, text: JSON.stringify({ ...record, revokedAt: '2026-01-02T00:00:00.000Z' }) },
        'replace',
        NEVER,
      );
      await eventually(async () => expect((await reader.client.blob(blob?.versionHash ?? '')).status).toBe(200));
    });
  });

  test('a damaged object is passed over for another backend, and never given out where there is none', async () => {
    const [, , , blob] = published;
    if (blob === undefined) throw new Error('no blob');
    const hashType = (await archiver.client.record(blob.versionHash)).hashType;
    const wrong = bytesOf(blob);
    wrong.writeUInt8(wrong.readUInt8(0) ^ 1);
    await damage(s3, bucket.bucket, `blobs/${hashType}/${blob.versionHash}`, wrong);
    expect((await reader.client.blob(blob.versionHash)).body.equals(bytesOf(blob))).toBe(true);
    const alone = await untilReady(await startReaderHere(s3Only));
    expect(await alone.client.problem(`/v1/blobs/${blob.versionHash}`)).toMatchObject({
      status: 503,
      code: 'blob/damaged',
    });
  });

  test('kill -9 costs nothing: the next one answers the same', async () => {
    const first = await untilReady(await startReader(both));
    const [one] = published;
    expect((await first.client.blob(one?.versionHash ?? '')).status).toBe(200);
    first.kill('SIGKILL');
    await first.ended;
    const second = await untilReady(await startReader(both));
    expect((await second.client.blob(one?.versionHash ?? '')).status).toBe(200);
    second.kill('SIGTERM');
    expect((await second.ended).code).toBe(143);
  });

  test('a backend that is gone: the other answers, and readiness says which', async () => {
    await untilReady(reader);
    const lone = await untilReady(await startReaderHere({ ...s3Only }));
    await s3.kill();
    const last = published.at(-1);
    if (last === undefined) throw new Error('no blob');
    expect((await reader.client.blob(last.versionHash)).body.equals(bytesOf(last))).toBe(true);
    expect(await lone.client.problem(`/v1/blobs/${last.versionHash}`)).toMatchObject({ status: 503 });
    await eventually(async () => {
      const now = await lone.client.readiness();
      expect([now.status, now.conditions[0]?.code]).toEqual([503, 'storage/unreachable']);
    });
    expect((await reader.client.readiness()).status).toBe(200);
    // A reader that starts now cannot know what it may not serve.
    const late = await startReaderHere(both);
    expect((await late.client.blob(last.versionHash)).status).toBe(503);
    await s3.resume();
    await eventually(async () => expect((await late.client.blob(last.versionHash)).status).toBe(200));
  });

  test('IPFS alone wants a list of what is withheld, and honours it', async () => {
    const refused = await new HoldfastProcess(['serve'], { env: ipfsEnvironment(kubo) }).ended;
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('HOLDFAST_WITHHELD_FILE')]);
    const file = `${temporaryFolder()}/withheld`;
    writeFileSync(file, `# by order\n${published[0]?.versionHash} 2026\n`);
    const alone = await untilReady(await startReader({ ...ipfsEnvironment(kubo), HOLDFAST_WITHHELD_FILE: file }));
    expect((await alone.client.blob(published[0]?.versionHash ?? '')).status).toBe(451);
    expect((await alone.client.blob(published[1]?.versionHash ?? '')).status).toBe(200);
  });
});
