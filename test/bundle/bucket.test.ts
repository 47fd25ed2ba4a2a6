import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GetObjectCommand, ListMultipartUploadsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BucketPlace } from '../../src/bundle/bucket-place.ts';
import { partBytesFor } from '../../src/bundle/bundle-upload.ts';
import { S3Bucket } from '../../src/storage/s3/s3-bucket.ts';
import type { S3Options } from '../../src/storage/s3/s3-options.ts';
import { holdfastHere } from '../e2e/holdfast-here.ts';
import { HoldfastProcess } from '../e2e/holdfast-process.ts';
import { NEVER } from '../sample-blobs.ts';
import { Scene } from '../scenario/archive-on-devnode.ts';
import { describeWithServers, SERVER_START_MS } from '../servers/availability.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { bareClient, newBucket } from '../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { reportIn, settled } from './archived-scene.ts';
import { type Passing, s3Between } from './s3-between.ts';

const MIB = 1_048_576;

test.each([
  [1, 8 * MIB],
  [8 * MIB * 10_000, 8 * MIB],
  [8 * MIB * 10_000 + 1, 16 * MIB],
  [64 * MIB * 10_000, 64 * MIB],
])('a bundle of %i bytes has parts of %i', (sizeBytes, partBytes) => {
  expect(partBytesFor(sizeBytes)).toBe(partBytes);
});

test('a bundle that no bucket takes as one object is refused before a byte is sent', () => {
  expect(() => partBytesFor(64 * MIB * 10_000 + 1)).toThrow('is too large for one object');
});

describeWithServers('a bundle in a bucket of a real server', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  const client = () => {
    const made = bareClient(server);
    onTestFinished(() => made.destroy());
    return made;
  };

  async function objectIn({ bucket }: S3Options, Key: string): Promise<Uint8Array | null> {
    try {
      const { Body } = await client().send(new GetObjectCommand({ Bucket: bucket, Key }));
      return (await Body?.transformToByteArray()) ?? null;
    } catch (error) {
      if (error instanceof Error && error.name === 'NoSuchKey') return null;
      throw error;
    }
  }

  async function unfinishedIn({ bucket }: S3Options): Promise<number> {
    return (await client().send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads?.length ?? 0;
  }

  describe('through the command', () => {
    /** An archive with 10 MiB of blobs, two parts of a bundle, which runs no more. */
    async function archivedMuch(): Promise<Scene> {
      const scene = await Scene.create({ time: 'real' });
      await scene.start();
      for (let blob = 0; blob < 7; blob += 1) scene.submit(1_500_000);
      const [mined] = scene.mine(1, 1);
      scene.mine(8);
      await settled(scene, mined?.height ?? 0);
      await scene.stop();
      return scene;
    }

    const settings = (endpoint = server.endpoint) => ({
      HOLDFAST_S3_ENDPOINT: endpoint,
      HOLDFAST_S3_REGION: server.region,
      HOLDFAST_S3_ACCESS_KEY_ID: server.accessKeyId,
      HOLDFAST_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
    });

    const wordsFor = (scene: Scene, ...words: string[]) => [...words, '--json', '--data-dir', scene.dataDir];

    async function run(scene: Scene, ...words: string[]) {
      const ended = await holdfastHere(wordsFor(scene, ...words), { env: settings() });
      return { ...ended, report: reportIn(ended.stdout) };
    }

    test('killed between two parts it leaves nothing under its name, goes on there, and is the file of --output to the byte', async () => {
      const scene = await archivedMuch();
      const options = await newBucket(server);
      const place = `s3=${options.bucket}/bundles/2026`;
      const file = join(temporaryFolder(), 'blobs.car');
      expect(await run(scene, 'export', '--output', file)).toMatchObject({ code: 0 });
      const isHeld = Promise.withResolvers<void>();
      const firstIsThere = Promise.withResolvers<void>();
      const isPart = ({ method, query }: Passing, number: string) =>
        method === 'PUT' && query.get('partNumber') === number;
      const before = await s3Between(server.endpoint, {
        deedOf(passing) {
          if (!isPart(passing, '2')) return 'pass';
          isHeld.resolve();
          return 'hold';
        },
        onAnswered(passing) {
          if (isPart(passing, '1')) firstIsThere.resolve();
        },
      });
      const killed = new HoldfastProcess(wordsFor(scene, 'export', '--to', place), { env: settings(before) });
      await Promise.all([isHeld.promise, firstIsThere.promise]);
      killed.kill('SIGKILL');
      expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
      const { report } = await run(scene, 'export', '--output', join(temporaryFolder(), 'again.car'));
      const key = `bundles/2026/holdfast-${String(report?.['chain']).slice(0, 8)}-${report?.['from']}-${report?.['to']}.car`;
      expect(await objectIn(options, key)).toBeNull();
      expect(await unfinishedIn(options)).toBe(1);

      const done = await run(scene, 'export', '--to', place);
      expect(done).toMatchObject({ code: 0, stderr: '', report: { keptBytes: 8 * MIB } });
      expect(done.report?.['file']).toBe(`${server.endpoint}/${options.bucket}/${key}`);
      const bytes = await objectIn(options, key);
      expect(Buffer.compare(bytes ?? new Uint8Array(), readFileSync(file))).toBe(0);
      expect(await unfinishedIn(options)).toBe(0);

      const again = await run(scene, 'export', '--to', place);
      expect(again).toMatchObject({ code: 0, report: { keptBytes: bytes?.length } });

      for (const source of [`${place}/${key.split('/').at(-1)}`, place]) {
        const into = temporaryFolder();
        const words = ['import', source, '--json', '--data-dir', into];
        const taken = await holdfastHere(words, { env: settings() });
        expect(taken.code).toBe(0);
        expect(reportIn(taken.stdout)).toMatchObject({ taken: 8, byRecord: 8, unusableCount: 0 });
      }
    });

    test('a bucket that is not there, and a place that says nothing, are errors that say what to do', async () => {
      const scene = await archivedMuch();
      for (const [place, says] of [
        ['s3=no-such-bucket', 'has no such bucket'],
        ['s3=-no', 'is no name of a bucket'],
        ['s3=some-bucket?backend=none', 'No S3 backend is named none'],
        ['s3=some-bucket?layout=sentinel', 'A layout is of blobs'],
        ['ftp=there', 'A bundle goes into one file, one folder or one bucket'],
      ] as const) {
        const { code, stderr } = await run(scene, 'export', '--to', place);
        expect([place, code === 0]).toEqual([place, false]);
        expect(stderr).toContain(says);
      }
      const missing = await run(scene, 'import', 's3=no-such-bucket/a.car');
      expect(missing.code).toBe(1);
      expect(missing.stderr).toContain('has no such bucket');
      const { bucket } = await newBucket(server);
      const empty = await run(scene, 'import', `s3=${bucket}/a.car`);
      expect(empty.code).toBe(1);
      expect(empty.stderr).toContain('no object is there');
    });
  });

  describe('through its place', () => {
    const BYTES = new Uint8Array(randomBytes(8 * MIB + 1_000));

    async function placed(options: S3Options) {
      const bucket = await S3Bucket.open(options);
      onTestFinished(() => bucket.close());
      return await BucketPlace.open(bucket, 'a.car', NEVER);
    }

    async function write(options: S3Options): Promise<number> {
      const place = await placed(options);
      const target = await place.begin(BYTES.length);
      for (let at = 0; at < BYTES.length; at += 700_001) await target.write(BYTES.subarray(at, at + 700_001));
      await target.finish();
      await place.close();
      return target.keptBytes;
    }

    test.each([
      ['of another size', BYTES.subarray(1)],
      ['of the same size', Uint8Array.from(BYTES, (byte, index) => (index === 5_000_000 ? byte ^ 1 : byte))],
    ])('another object %s is not written over', async (_, there) => {
      const options = await newBucket(server);
      await client().send(new PutObjectCommand({ Bucket: options.bucket, Key: 'a.car', Body: there }));
      await expect(write(options)).rejects.toMatchObject({ code: 'bundle/exists' });
      expect(Buffer.compare((await objectIn(options, 'a.car')) ?? BYTES, there)).toBe(0);
    });

    test('another object that came during the upload is not written over', async () => {
      const options = await newBucket(server);
      const place = await placed(options);
      const target = await place.begin(BYTES.length);
      await target.write(BYTES);
      await client().send(new PutObjectCommand({ Bucket: options.bucket, Key: 'a.car', Body: 'of somebody else' }));
      await expect(target.finish()).rejects.toMatchObject({ code: 'bundle/exists' });
      await place.close();
      expect(Buffer.from((await objectIn(options, 'a.car')) ?? []).toString()).toBe('of somebody else');
    });

    test('an object that is read back with one other byte does not count, and does not stay', async () => {
      const options = await newBucket(server);
      const endpoint = await s3Between(server.endpoint, {
        deedOf: ({ isRange }) => (isRange ? 'damage' : 'pass'),
      });
      await expect(write({ ...options, endpoint })).rejects.toMatchObject({ code: 'bundle/wrong-bytes' });
      expect(await objectIn(options, 'a.car')).toBeNull();
      expect(await write(options)).toBe(0);
    });

    test('a part that is damaged on its way is refused by the server, and no object appears', async () => {
      const options = await newBucket(server);
      const endpoint = await s3Between(server.endpoint, {
        deedOf: ({ query }) => (query.get('partNumber') === '1' ? 'damage sent' : 'pass'),
      });
      await expect(write({ ...options, endpoint })).rejects.toThrow();
      expect(await objectIn(options, 'a.car')).toBeNull();
    });

    test('a lost answer to the last question is made good by reading back', async () => {
      const options = await newBucket(server);
      const endpoint = await s3Between(server.endpoint, {
        deedOf: ({ method, query }) => (method === 'POST' && query.has('uploadId') ? 'lose' : 'pass'),
      });
      expect(await write({ ...options, endpoint })).toBe(0);
      expect(Buffer.compare((await objectIn(options, 'a.car')) ?? new Uint8Array(), BYTES)).toBe(0);
    });
  });
});
