import { randomBytes } from 'node:crypto';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { encodeHex } from '../../../src/core/blob/hex.ts';
import { parseBlockHash } from '../../../src/core/blob/ids.ts';
import { bindTo, boundChain } from '../../../src/storage/chain-binding.ts';
import { mayBeOneObject } from '../../../src/storage/errors.ts';
import { listBlobs } from '../../../src/storage/object-store.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { verifyBlob } from '../../../src/verify/verified-blob.ts';
import { HASHER, NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { pathOf } from '../memory-store.ts';
import { describeObjectStore } from '../object-store-conformance.ts';
import { bareClient, damage, fill, newBucket } from './s3-fixture.ts';

const GENESIS = parseBlockHash('a'.repeat(64));
const OTHER_GENESIS = parseBlockHash('b'.repeat(64));

describeWithServers('an S3 store on a real server', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  async function open(given: Partial<S3Options> = {}): Promise<{ store: S3Store; options: S3Options }> {
    const options = await newBucket(server, given);
    const store = await S3Store.open(options);
    onTestFinished(() => store.close());
    return { store, options };
  }

  async function keysIn({ bucket }: S3Options): Promise<string[]> {
    const client = bareClient(server);
    onTestFinished(() => client.destroy());
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    return Contents.flatMap(({ Key }) => Key ?? []);
  }

  describeObjectStore('a bucket', ['blob', 'custom', 'record', 'evidence', 'binding', 'mark'], async () => {
    const options = await newBucket(server, { prefix: 'archive/one' });
    return {
      store: await S3Store.open(options),
      overwrite: (key, bytes) => damage(server, options.bucket, `archive/one/${pathOf(key)}`, bytes),
    };
  });

  test('a put over a good object writes nothing: the object keeps its date', async () => {
    const { store, options } = await open();
    const blob = sampleBlob('there already', 5_000);
    const client = bareClient(server);
    onTestFinished(() => client.destroy());
    const Key = `blobs/${blob.hashType}/${blob.versionHash}`;
    await client.send(
      new PutObjectCommand({ Bucket: options.bucket, Key, Body: blob.bytes, Metadata: { by: 'another archiver' } }),
    );
    await store.put(blob, 'replace', NEVER);
    const head = await client.send(new HeadObjectCommand({ Bucket: options.bucket, Key }));
    expect(head.Metadata).toEqual({ by: 'another archiver' });
  });

  test('the largest bodies over good ones, many at a time, all succeed: the server refuses before it reads them', async () => {
    const { store } = await open({ layout: 'sentinel' });
    const blob = sampleBlob('large, there already', 2_097_152);
    await store.put(blob, 'replace', NEVER);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 8 }, () => store.put(blob, 'replace', NEVER)));
    }
  });

  test('damage on its disk never counts as good, and a put repairs it', async () => {
    const { store, options } = await open();
    for (const atByte of [100_000, 1_500_000]) {
      const blob = sampleBlob(`rots at ${atByte}`, 2_097_152);
      await store.put(blob, 'replace', NEVER);
      await server.rot(options.bucket, `blobs/${blob.hashType}/${blob.versionHash}`, atByte);
      const found = await store.get(nameOf(blob), NEVER).catch((error: unknown) => {
        if (mayBeOneObject(error)) return null;
        throw error;
      });
      expect(found === null ? null : verifyBlob({ ...nameOf(blob), bytes: found }, HASHER)).toBeNull();
      await store.put(blob, 'replace', NEVER);
      expect(await store.get(nameOf(blob), NEVER)).toEqual(Buffer.from(blob.bytes));
    }
  });

  test('signs every request for the key that it names, also under a prefix with signs of all kinds', async () => {
    const { store } = await open({ prefix: "it's (ours) & +more/ünd:so~on*!" });
    const blobs = Array.from({ length: 3 }, (_, index) => sampleBlob(`under a prefix ${index}`, 500));
    for (const blob of blobs) await store.put(blob, 'replace', NEVER);
    for (const blob of blobs) expect(await store.get(nameOf(blob), NEVER)).toEqual(Buffer.from(blob.bytes));
    expect(await Array.fromAsync(listBlobs(store, NEVER))).toHaveLength(3);
  });

  test('never reads more of an object than a blob can have', async () => {
    const { store, options } = await open();
    const blob = sampleBlob('swollen', 100);
    await store.put(blob, 'replace', NEVER);
    await damage(server, options.bucket, `blobs/${blob.hashType}/${blob.versionHash}`, randomBytes(5_000_000));
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(2_097_153);
    await store.put(blob, 'replace', NEVER);
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(100);
  });

  test('lists over many pages, in order, and leaves out what is no blob', async () => {
    const { store, options } = await open({ connections: 64 });
    const names = Array.from({ length: 2_100 }, () => randomBytes(32).toString('hex')).sort();
    const foreign = ['blobs/keccak256/README', `blobs/sha256/${names[0]}`, `blobs/keccak256/${names[0]}.old`];
    await fill(server, options.bucket, [...names.map((name) => `blobs/keccak256/${name}`), ...foreign]);
    const found: string[] = [];
    for await (const entry of listBlobs(store, NEVER)) found.push(entry.versionHash);
    expect(found).toEqual(names);
  });

  test('sets a damaged copy aside when it replaces it, and nothing that is good', async () => {
    const { store, options } = await open();
    const blob = sampleBlob('rotten', 100);
    await store.put(blob, 'replace', NEVER);
    await damage(server, options.bucket, `blobs/${blob.hashType}/${blob.versionHash}`, randomBytes(100));
    await store.put(blob, 'replace', NEVER);
    expect(await keysIn(options)).toEqual([
      `blobs/${blob.hashType}/${blob.versionHash}`,
      expect.stringMatching(new RegExp(`^damaged/keccak256/${blob.versionHash}/`)),
    ]);
    // Nothing is damaged any more: no second copy is made of what is good.
    await store.put(blob, 'replace', NEVER);
    expect(await keysIn(options)).toHaveLength(2);
  });

  describe('in the Sentinel layout', () => {
    test('reads what Sentinel wrote, in either case and with what tools leave around it', async () => {
      const { store, options } = await open({ layout: 'sentinel' });
      const client = bareClient(server);
      onTestFinished(() => client.destroy());
      const writers = [
        (hex: string) => hex,
        (hex: string) => `${hex.toUpperCase()}\n`,
        (hex: string) => `0x${hex}\r\n`,
      ];
      for (const [index, write] of writers.entries()) {
        const blob = sampleBlob(`sentinel ${index}`, 2_097_152);
        const Body = write(encodeHex(blob.bytes));
        await client.send(new PutObjectCommand({ Bucket: options.bucket, Key: blob.versionHash, Body }));
        const found = await store.get(nameOf(blob), NEVER);
        expect(found !== null && verifyBlob({ ...nameOf(blob), bytes: found }, HASHER) !== null).toBe(true);
        await store.put(blob, 'replace', NEVER);
        const kept = await client.send(new GetObjectCommand({ Bucket: options.bucket, Key: blob.versionHash }));
        expect(await kept.Body?.transformToString()).toBe(Body);
      }
    });

    test('writes lower-case hex under the bare version hash, and lists it as of a type that is not said', async () => {
      const { store, options } = await open({ layout: 'sentinel' });
      const client = bareClient(server);
      onTestFinished(() => client.destroy());
      const blob = sampleBlob('written', 300, 'blake2s256');
      await store.put(blob, 'replace', NEVER);
      const raw = await client.send(new GetObjectCommand({ Bucket: options.bucket, Key: blob.versionHash }));
      expect(await raw.Body?.transformToString()).toBe(encodeHex(blob.bytes));
      await bindTo(store, GENESIS, NEVER);
      const entries = [];
      for await (const entry of listBlobs(store, NEVER)) entries.push(entry);
      expect(entries).toEqual([
        { hashType: 'keccak256', versionHash: blob.versionHash, sizeBytes: 300, hashTypeUnsaid: true },
      ]);
      expect(await store.stat(nameOf(blob), NEVER)).toEqual({ sizeBytes: 300 });
    });

    test('replaces text that is no hex, and gives its bytes as they are until then', async () => {
      const { store, options } = await open({ layout: 'sentinel' });
      const blob = sampleBlob('no hex', 100);
      await store.put(blob, 'replace', NEVER);
      await damage(server, options.bucket, blob.versionHash, Buffer.from('<html>moved</html>'));
      expect(Buffer.from((await store.get(nameOf(blob), NEVER)) ?? []).toString()).toBe('<html>moved</html>');
      await store.put(blob, 'replace', NEVER);
      expect(Buffer.compare((await store.get(nameOf(blob), NEVER)) ?? new Uint8Array(), blob.bytes)).toBe(0);
    });
  });

  describe('bound to a chain', () => {
    test('belongs to the first chain that binds it, for good', async () => {
      const { store, options } = await open();
      expect(await boundChain(store, NEVER)).toBeNull();
      await bindTo(store, GENESIS, NEVER);
      await bindTo(store, GENESIS, NEVER);
      expect(await boundChain(store, NEVER)).toBe(GENESIS);
      await expect(bindTo(store, OTHER_GENESIS, NEVER)).rejects.toMatchObject({
        code: 'storage/other-chain',
        message: expect.stringContaining(`belongs to the chain whose first block is ${GENESIS}`),
      });
      const sentinel = await S3Store.open({ ...options, layout: 'sentinel' });
      onTestFinished(() => sentinel.close());
      await expect(bindTo(sentinel, GENESIS, NEVER)).rejects.toMatchObject({ code: 'storage/other-layout' });
      const elsewhere = await S3Store.open({ ...options, prefix: 'other' });
      onTestFinished(() => elsewhere.close());
      await bindTo(elsewhere, OTHER_GENESIS, NEVER);
    });

    test('exactly one of two chains that bind it at one moment gets it', async () => {
      const { store } = await open();
      const outcomes = await Promise.allSettled(
        [GENESIS, OTHER_GENESIS].map((genesis) => bindTo(store, genesis, NEVER)),
      );
      expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    });

    test('refuses a marker that it does not understand', async () => {
      const { store, options } = await open();
      await bindTo(store, GENESIS, NEVER);
      await damage(server, options.bucket, 'holdfast.json', Buffer.from('{"format":"holdfast","version":2}'));
      await expect(bindTo(store, GENESIS, NEVER)).rejects.toMatchObject({ code: 'storage/unknown-format' });
    });
  });

  test('the probe finds nothing to say against it, and leaves nothing behind', async () => {
    const { store, options } = await open({ prefix: 'probed' });
    const findings = await store.probe(NEVER);
    expect(findings.map(({ check, grade }) => [check, grade])).toEqual([
      ['reachable', 'good'],
      ['clock', 'good'],
      ['missing-key', 'good'],
      ['writable', 'good'],
      ['readable', 'good'],
      ['conditional-put', 'good'],
      ['deletable', 'good'],
    ]);
    const whole = await S3Store.open({ ...options, keyTemplate: 'probe/{hashType}/{versionHash}' });
    onTestFinished(() => whole.close());
    for await (const entry of listBlobs(whole, NEVER)) expect.unreachable(`left behind: ${entry.versionHash}`);
  });

  test('a missing bucket is a sentence, never "not there"', async () => {
    const { options } = await open();
    const store = await S3Store.open({ ...options, bucket: 'no-such-bucket' });
    onTestFinished(() => store.close());
    const name = nameOf(sampleBlob('anything', 1));
    const missing = { code: 'storage/no-bucket', retryable: false, message: expect.stringContaining('no such bucket') };
    await expect(store.get(name, NEVER)).rejects.toMatchObject(missing);
    await expect(store.stat(name, NEVER)).rejects.toMatchObject(missing);
    await expect(store.put(sampleBlob('anything', 1), 'replace', NEVER)).rejects.toMatchObject(missing);
    expect(await store.probe(NEVER)).toMatchObject([{ check: 'reachable', grade: 'fault' }]);
  });

  test('wrong keys are a sentence without the keys in it', async () => {
    const { options } = await open();
    const secretAccessKey = 'surely-not-the-right-secret';
    const store = await S3Store.open({ ...options, credentials: { accessKeyId: server.accessKeyId, secretAccessKey } });
    onTestFinished(() => store.close());
    const error: unknown = await store.get(nameOf(sampleBlob('x', 1)), NEVER).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'storage/bad-credentials', retryable: false });
    expect(String(error)).not.toContain(secretAccessKey);
  });

  test('a server that was killed refuses connections; started again, everything acknowledged is there', async () => {
    const { store } = await open();
    const blob = sampleBlob('survivor', 70_000);
    await store.put(blob, 'replace', NEVER);
    await server.kill();
    const refused = { code: 'storage/unreachable', retryable: true };
    await expect(store.get(nameOf(blob), NEVER)).rejects.toMatchObject(refused);
    await expect(store.put(sampleBlob('late', 10), 'replace', NEVER)).rejects.toMatchObject(refused);
    await server.resume();
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(70_000);
  });
});
