import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { Part } from '../../src/bundle/part.ts';
import { sourceParts } from '../../src/bundle/source-parts.ts';
import { S3Bucket } from '../../src/storage/s3/s3-bucket.ts';
import { s3Options } from '../../src/storage/s3/s3-options.ts';
import { NEVER, sampleBytes } from '../sample-blobs.ts';
import { misbehavingServer, s3Error } from '../storage/misbehaving-server.ts';

const BYTES = sampleBytes('in a bucket', 300);

interface Listed {
  readonly key: string;
  readonly sizeBytes: number;
  readonly answer: (response: ServerResponse) => void;
}

function whole(response: ServerResponse): void {
  const { length } = BYTES;
  const range = `bytes 0-${length - 1}/${length}`;
  response.writeHead(206, { etag: '"e"', 'content-length': length, 'content-range': range });
  response.end(BYTES);
}

async function partsOf(listed: readonly Listed[]): Promise<Part[]> {
  const contents = listed.map((one) => `<Contents><Key>${one.key}</Key><Size>${one.sizeBytes}</Size></Contents>`);
  const { endpoint } = await misbehavingServer(({ key }, response) => {
    const one = listed.find((object) => object.key === key);
    if (one !== undefined) return one.answer(response);
    response.writeHead(200, { 'content-type': 'application/xml' });
    const words = `<IsTruncated>false</IsTruncated><KeyCount>${listed.length}</KeyCount>${contents.join('')}`;
    return void response.end(`<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>${words}</ListBucketResult>`);
  });
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const openBucket = () => S3Bucket.open(s3Options({ bucket: 'some-bucket', endpoint, credentials }));
  const judge = { isKnown: async () => false, refusal: () => null };
  return await Array.fromAsync(sourceParts('s3=some-bucket', { openBucket, judge, recordsOnly: false }, NEVER));
}

test('an object that is deleted, replaced or archived in a bucket while it is read is a fault of its own, and the others are read', async () => {
  const parts = await partsOf([
    { key: 'gone', sizeBytes: 300, answer: (response) => s3Error(response, 404, 'NoSuchKey') },
    { key: 'replaced', sizeBytes: 300, answer: (response) => s3Error(response, 412, 'PreconditionFailed') },
    { key: 'archived', sizeBytes: 300, answer: (response) => s3Error(response, 403, 'InvalidObjectState') },
    { key: 'there', sizeBytes: 300, answer: whole },
  ]);
  expect(parts.map(({ kind }) => kind)).toEqual(['fault', 'fault', 'fault', 'bytes']);
  expect(parts[0]).toMatchObject({ why: expect.stringContaining('has not got the object any more') });
});

test('the empty object by which a console shows a folder is none of the files', async () => {
  const parts = await partsOf([
    { key: 'bundles/', sizeBytes: 0, answer: (response) => s3Error(response, 416, 'InvalidRange') },
    { key: 'bundles/there', sizeBytes: 300, answer: whole },
  ]);
  expect(parts.map(({ kind }) => kind)).toEqual(['bytes']);
});
