import { randomBytes } from 'node:crypto';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { encodeHex } from '../../../src/core/blob/hex.ts';
import { parseBlockHash } from '../../../src/core/blob/ids.ts';
import { customPath } from '../../../src/storage/custom-store.ts';
import { mayBeOneObject } from '../../../src/storage/errors.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { nobleHasher } from '../../../src/verify/hasher.ts';
import { verifyBlob } from '../../../src/verify/verified-blob.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { describeBlobStore } from '../blob-store-conformance.ts';
import { describeCustomStore } from '../custom-store-conformance.ts';
import { describeRecordStore } from '../record-store-conformance.ts';
import { bareClient, damage, newBucket } from './s3-fixture.ts';

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

  describeBlobStore('a bucket', async () => {
    const options = await newBucket(server, { prefix: 'archive/one' });
    return {
      store: await S3Store.open(options),
      overwrite: ({ hashType, versionHash }, bytes) =>
        damage(server, options.bucket, `archive/one/blobs/${hashType}/${versionHash}`, bytes),
    };
  });

  describeCustomStore('a bucket', async () => {
    const { store, options } = await open({ prefix: 'archive/one' });
    return {
      store,
      damage: (name, bytes) => damage(server, options.bucket, `archive/one/${customPath(name)}`, bytes),
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
    await store.put(blob, NEVER);
    const head = await client.send(new HeadObjectCommand({ Bucket: options.bucket, Key }));
    expect(head.Metadata).toEqual({ by: 'another archiver' });
  });

  test('the largest bodies over good ones, many at a time, all succeed: the server refuses before it reads them', async () => {
    const { store } = await open({ layout: 'sentinel' });
    const blob = sampleBlob('large, there already', 2_097_152);
    await store.put(blob, NEVER);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 8 }, () => store.put(blob, NEVER)));
    }
  });

  test('what rots on its disk never counts as good, and a put mends it', async () => {
    const { store, options } = await open();
    for (const atByte of [100_000, 1_500_000]) {
      const blob = sampleBlob(`rots at ${atByte}`, 2_097_152);
      await store.put(blob, NEVER);
      await server.rot(options.bucket, `blobs/${blob.hashType}/${blob.versionHash}`, atByte);
      const found = await store.get(nameOf(blob), NEVER).catch((error: unknown) => {
        if (mayBeOneObject(error)) return null;
        throw error;
      });
      expect(found === null ? null : verifyBlob(found, nobleHasher)).toBeNull();
      await store.put(blob, NEVER);
      expect((await store.get(nameOf(blob), NEVER))?.bytes).toEqual(Buffer.from(blob.bytes));
    }
  });

  test('signs every request for the key that it names, also under a prefix with signs of all kinds', async () => {
    const { store } = await open({ prefix: "it's (ours) & +more/ünd:so~on*!" });
    const blobs = Array.from({ length: 3 }, (_, index) => sampleBlob(`under a prefix ${index}`, 500));
    for (const blob of blobs) await store.put(blob, NEVER);
    for (const blob of blobs) expect((await store.get(nameOf(blob), NEVER))?.bytes).toEqual(Buffer.from(blob.bytes));
    expect(await Array.fromAsync(store.list(NEVER))).toHaveLength(3);
  });

  test('never reads more of an object than a blob can have', async () => {
    const { store, options } = await open();
    const blob = sampleBlob('swollen', 100);
    await store.put(blob, NEVER);
    await damage(server, options.bucket, `blobs/${blob.hashType}/${blob.versionHash}`, randomBytes(5_000_000));
    expect((await store.get(nameOf(blob), NEVER))?.bytes.length).toBe(2_097_153);
    await store.put(blob, NEVER);
    expect((await store.get(nameOf(blob), NEVER))?.bytes.length).toBe(100);
  });

  test('lists over many pages, in order, and leaves out what is no blob', async () => {
    const { store, options } = await open({ connections: 64 });
    const client = bareClient(server);
    onTestFinished(() => client.destroy());
    const names = Array.from({ length: 2_100 }, () => randomBytes(32).toString('hex')).sort();
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket: options.bucket, Key, Body: 'x' }));
    for (let from = 0; from < names.length; from += 100) {
      await Promise.all(names.slice(from, from + 100).map((name) => put(`blobs/keccak256/${name}`)));
    }
    for (const foreign of ['blobs/keccak256/README', `blobs/sha256/${names[0]}`, `blobs/keccak256/${names[0]}.old`]) {
      await put(foreign);
    }
    const found: string[] = [];
    for await (const entry of store.list(NEVER)) found.push(entry.versionHash);
    expect(found).toEqual(names);
  });

  test('sets a damaged copy aside, once for the same damage', async () => {
    const { store, options } = await open();
    const blob = sampleBlob('rotten', 100);
    await store.put(blob, NEVER);
    await damage(server, options.bucket, `blobs/${blob.hashType}/${blob.versionHash}`, randomBytes(100));
    const aside = await store.setAside(blob, NEVER);
    expect(aside).toMatch(new RegExp(`^damaged/keccak256/${blob.versionHash}/`));
    expect(await store.setAside(blob, NEVER)).toBe(aside);
    expect(await store.setAside(sampleBlob('absent', 1), NEVER)).toBeNull();
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
        expect(found !== null && verifyBlob(found, nobleHasher) !== null).toBe(true);
        await store.put(blob, NEVER);
        const kept = await client.send(new GetObjectCommand({ Bucket: options.bucket, Key: blob.versionHash }));
        expect(await kept.Body?.transformToString()).toBe(Body);
      }
    });

    test('writes lower-case hex under the bare version hash, and lists it as of a type that is not said', async () => {
      const { store, options } = await open({ layout: 'sentinel' });
      const client = bareClient(server);
      onTestFinished(() => client.destroy());
      const blob = sampleBlob('written', 300, 'blake2s256');
      await store.put(blob, NEVER);
      const raw = await client.send(new GetObjectCommand({ Bucket: options.bucket, Key: blob.versionHash }));
      expect(await raw.Body?.transformToString()).toBe(encodeHex(blob.bytes));
      await store.bindTo(GENESIS, NEVER);
      const entries = [];
      for await (const entry of store.list(NEVER)) entries.push(entry);
      expect(entries).toEqual([
        { hashType: 'keccak256', versionHash: blob.versionHash, sizeBytes: 300, hashTypeUnsaid: true },
      ]);
      expect(await store.stat(nameOf(blob), NEVER)).toEqual({ ...nameOf(blob), sizeBytes: 300 });
    });

    test('replaces text that is no hex, and gives its bytes as they are until then', async () => {
      const { store, options } = await open({ layout: 'sentinel' });
      const blob = sampleBlob('no hex', 100);
      await store.put(blob, NEVER);
      await damage(server, options.bucket, blob.versionHash, Buffer.from('<html>moved</html>'));
      expect(Buffer.from((await store.get(nameOf(blob), NEVER))?.bytes ?? []).toString()).toBe('<html>moved</html>');
      await store.put(blob, NEVER);
      expect(Buffer.compare((await store.get(nameOf(blob), NEVER))?.bytes ?? new Uint8Array(), blob.bytes)).toBe(0);
    });
  });

  describe('bound to a chain', () => {
    test('belongs to the first chain that binds it, for good', async () => {
      const { store, options } = await open();
      expect(await store.boundChain(NEVER)).toBeNull();
      await store.bindTo(GENESIS, NEVER);
      await store.bindTo(GENESIS, NEVER);
      expect(await store.boundChain(NEVER)).toBe(GENESIS);
      await expect(store.bindTo(OTHER_GENESIS, NEVER)).rejects.toMatchObject({
        code: 'storage/other-chain',
        message: expect.stringContaining(`belongs to the chain whose first block is ${GENESIS}`),
      });
      const sentinel = await S3Store.open({ ...options, layout: 'sentinel' });
      onTestFinished(() => sentinel.close());
      await expect(sentinel.bindTo(GENESIS, NEVER)).rejects.toMatchObject({ code: 'storage/other-layout' });
      const elsewhere = await S3Store.open({ ...options, prefix: 'other' });
      onTestFinished(() => elsewhere.close());
      await elsewhere.bindTo(OTHER_GENESIS, NEVER);
    });

    test('of two chains that bind it at one moment, exactly one gets it', async () => {
      const { store } = await open();
      const outcomes = await Promise.allSettled(
        [GENESIS, OTHER_GENESIS].map((genesis) => store.bindTo(genesis, NEVER)),
      );
      expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    });

    test('refuses a marker that it does not understand', async () => {
      const { store, options } = await open();
      await store.bindTo(GENESIS, NEVER);
      await damage(server, options.bucket, 'holdfast.json', Buffer.from('{"format":"holdfast","version":2}'));
      await expect(store.bindTo(GENESIS, NEVER)).rejects.toMatchObject({ code: 'storage/unknown-format' });
    });
  });

  describeRecordStore('a bucket', async () => (await open({ prefix: 'p' })).store.documents);

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
    for await (const entry of whole.list(NEVER)) expect.unreachable(`left behind: ${entry.versionHash}`);
  });

  test('a missing bucket is a sentence, never "not there"', async () => {
    const { options } = await open();
    const store = await S3Store.open({ ...options, bucket: 'no-such-bucket' });
    onTestFinished(() => store.close());
    const name = nameOf(sampleBlob('anything', 1));
    const missing = { code: 'storage/no-bucket', retryable: false, message: expect.stringContaining('no such bucket') };
    await expect(store.get(name, NEVER)).rejects.toMatchObject(missing);
    await expect(store.stat(name, NEVER)).rejects.toMatchObject(missing);
    await expect(store.put(sampleBlob('anything', 1), NEVER)).rejects.toMatchObject(missing);
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
    await store.put(blob, NEVER);
    await server.kill();
    const refused = { code: 'storage/unreachable', retryable: true };
    await expect(store.get(nameOf(blob), NEVER)).rejects.toMatchObject(refused);
    await expect(store.put(sampleBlob('late', 10), NEVER)).rejects.toMatchObject(refused);
    await server.resume();
    expect((await store.get(nameOf(blob), NEVER))?.bytes.length).toBe(70_000);
  });
});
