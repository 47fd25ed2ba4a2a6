import {
  DeleteObjectCommand,
  GetObjectRetentionCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { customPath, listCustom } from '../../../src/storage/object-store.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER, nameOf, sampleBlob, sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { customName } from '../custom-conformance.ts';
import { bareClient, newBucket } from './s3-fixture.ts';

describeWithServers('an S3 store in a bucket with object lock', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server({ versioning: true });
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  test('an object is retained for the days that the operator gave, and written once', async () => {
    const options = await newBucket(server, { objectLock: { mode: 'GOVERNANCE', days: 30 } });
    const store = await S3Store.open(options);
    const client = bareClient(server);
    onTestFinished(async () => {
      client.destroy();
      await store.close();
    });
    const blob = sampleBlob('retained', 10_000);
    await store.put(blob, 'replace', NEVER);
    await store.put(blob, 'replace', NEVER);
    const object = { Bucket: options.bucket, Key: `blobs/${blob.hashType}/${blob.versionHash}` };
    const { Retention } = await client.send(new GetObjectRetentionCommand(object));
    expect(Retention?.Mode).toBe('GOVERNANCE');
    const days = ((Retention?.RetainUntilDate?.getTime() ?? 0) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
    const { Versions } = await client.send(
      new ListObjectVersionsCommand({ Bucket: options.bucket, Prefix: object.Key }),
    );
    expect(Versions).toHaveLength(1);
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(10_000);
  });

  test('the probe passes, and its own object is not retained', async () => {
    const options = await newBucket(server, { objectLock: { mode: 'COMPLIANCE', days: 1 } });
    const store = await S3Store.open(options);
    onTestFinished(() => store.close());
    const findings = await store.probe(NEVER);
    expect(findings.filter(({ grade }) => grade !== 'good')).toEqual([]);
    expect(findings.map(({ check }) => check)).toContain('object-lock');
  });

  test('a bucket that was made without it is told by the probe, and takes nothing that is to be retained', async () => {
    const options = await newBucket(server);
    const store = await S3Store.open({ ...options, objectLock: { mode: 'GOVERNANCE', days: 1 } });
    onTestFinished(() => store.close());
    const findings = await store.probe(NEVER);
    expect(findings.filter(({ grade }) => grade !== 'good')).toMatchObject([
      { check: 'object-lock', grade: 'fault', sentence: 'The s3 store keeps this bucket without object lock.' },
    ]);
    await expect(store.put(sampleBlob('not retained', 100), 'replace', NEVER)).rejects.toMatchObject({
      code: 'storage/refused',
    });
  });

  test('a purge is refused while what it wrote is retained', async () => {
    const options = await newBucket(server, { objectLock: { mode: 'COMPLIANCE', days: 1 } });
    const store = await S3Store.open(options);
    onTestFinished(() => store.close());
    const blob = sampleBlob('locked', 2_000);
    await store.put(blob, 'replace', NEVER);
    await expect(store.purge(nameOf(blob), NEVER)).rejects.toMatchObject({ code: 'storage/locked' });
    expect((await store.get(nameOf(blob), NEVER))?.length).toBe(2_000);
  });

  test('a purge deletes the versions that are not retained, behind one that is', async () => {
    const options = await newBucket(server, { objectLock: { mode: 'COMPLIANCE', days: 1 } });
    const store = await S3Store.open(options);
    const client = bareClient(server);
    onTestFinished(async () => {
      client.destroy();
      await store.close();
    });
    const blob = sampleBlob('locked anew', 2_000);
    const object = { Bucket: options.bucket, Key: `blobs/${blob.hashType}/${blob.versionHash}` };
    await client.send(new PutObjectCommand({ ...object, Body: 'rotten' }));
    await store.put(blob, 'replace', NEVER);
    const versions = async () => {
      const listed = { Bucket: options.bucket, Prefix: object.Key };
      return (await client.send(new ListObjectVersionsCommand(listed))).Versions?.map(({ Size }) => Size);
    };
    expect(await versions()).toEqual([2_000, 6]);
    await expect(store.purge(nameOf(blob), NEVER)).rejects.toMatchObject({ code: 'storage/locked' });
    expect(await versions()).toEqual([2_000]);
    // A mark of deletion hides the retained version: it stays.
    await client.send(new DeleteObjectCommand(object));
    await expect(store.purge(nameOf(blob), NEVER)).rejects.toMatchObject({ code: 'storage/locked' });
    expect(await versions()).toEqual([2_000]);
    expect(await store.get(nameOf(blob), NEVER)).toBeNull();
  });

  test('a purge of custom bytes is refused likewise; what is not retained goes all the same', async () => {
    const options = await newBucket(server, { objectLock: { mode: 'COMPLIANCE', days: 1 } });
    const locking = await S3Store.open(options);
    const free = await S3Store.open({ ...options, objectLock: null });
    onTestFinished(async () => {
      await locking.close();
      await free.close();
    });
    const { versionHash } = sampleBlob('committed to', 10);
    const [retained, loose] = [sampleBytes('retained', 2_000), sampleBytes('loose', 2_000)];
    await locking.put({ ...customName(versionHash, retained), bytes: retained }, 'replace', NEVER);
    await free.put({ ...customName(versionHash, loose), bytes: loose }, 'replace', NEVER);
    await expect(free.purge({ customOf: versionHash }, NEVER)).rejects.toMatchObject({ code: 'storage/locked' });
    const left = await Array.fromAsync(listCustom(free, versionHash, NEVER));
    expect(left).toEqual([{ ...customName(versionHash, retained), sizeBytes: 2_000 }]);
  });
});

describeWithServers('an S3 store in a bucket that keeps versions', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server({ versioning: true });
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  test('purges every version of a blob, what was set aside, and nothing else', async () => {
    const options = await newBucket(server);
    const client = bareClient(server);
    const store = await S3Store.open(options);
    onTestFinished(async () => {
      client.destroy();
      await store.close();
    });
    await client.send(
      new PutBucketVersioningCommand({ Bucket: options.bucket, VersioningConfiguration: { Status: 'Enabled' } }),
    );
    const [blob, other] = [sampleBlob('purged', 3_000), sampleBlob('kept', 3_000)];
    for (const one of [blob, other]) await store.put(one, 'replace', NEVER);
    const key = `blobs/${blob.hashType}/${blob.versionHash}`;
    await client.send(new PutObjectCommand({ Bucket: options.bucket, Key: key, Body: 'rotten' }));
    // A copy of what is replaced is set aside.
    await store.put(blob, 'replace', NEVER);
    await client.send(new PutObjectCommand({ Bucket: options.bucket, Key: key, Body: blob.bytes }));
    await store.delete(nameOf(blob), NEVER);
    expect(await store.purge(nameOf(blob), NEVER)).toBe(true);
    const { Versions = [], DeleteMarkers = [] } = await client.send(
      new ListObjectVersionsCommand({ Bucket: options.bucket }),
    );
    expect([...Versions, ...DeleteMarkers].map(({ Key }) => Key)).toEqual([
      `blobs/${other.hashType}/${other.versionHash}`,
    ]);
    expect(await store.purge(nameOf(blob), NEVER)).toBe(false);
  });

  test('purges every version of custom bytes, also those that no listing shows any more', async () => {
    const options = await newBucket(server);
    const client = bareClient(server);
    const store = await S3Store.open(options);
    onTestFinished(async () => {
      client.destroy();
      await store.close();
    });
    await client.send(
      new PutBucketVersioningCommand({ Bucket: options.bucket, VersioningConfiguration: { Status: 'Enabled' } }),
    );
    const { versionHash } = sampleBlob('committed to', 10);
    const bytes = sampleBytes('in versions', 500);
    const name = customName(versionHash, bytes);
    await store.put({ ...name, bytes }, 'replace', NEVER);
    const target = { Bucket: options.bucket, Key: customPath(name) };
    await client.send(new PutObjectCommand({ ...target, Body: 'rotten' }));
    await store.put({ ...name, bytes }, 'replace', NEVER);
    await client.send(new PutObjectCommand({ ...target, Body: 'another version' }));
    await client.send(new DeleteObjectCommand(target));
    expect(await Array.fromAsync(listCustom(store, null, NEVER))).toEqual([]);
    expect(await store.purge({ customOf: versionHash }, NEVER)).toBe(true);
    const { Versions = [], DeleteMarkers = [] } = await client.send(
      new ListObjectVersionsCommand({ Bucket: options.bucket }),
    );
    expect([...Versions, ...DeleteMarkers]).toEqual([]);
    expect(await store.purge({ customOf: versionHash }, NEVER)).toBe(false);
  });
});
