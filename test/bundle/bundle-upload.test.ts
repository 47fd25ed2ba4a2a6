import { expect, onTestFinished, test } from 'vitest';
import { BucketPlace } from '../../src/bundle/bucket-place.ts';
import { S3Bucket } from '../../src/storage/s3/s3-bucket.ts';
import { s3Options } from '../../src/storage/s3/s3-options.ts';
import { NEVER } from '../sample-blobs.ts';
import { misbehavingServer, s3Error } from '../storage/misbehaving-server.ts';

const UPLOAD = '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>';
const UPLOADS = '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>';
const COMPLETED = '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>';

async function placeAt(endpoint: string): Promise<BucketPlace> {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const bucket = await S3Bucket.open(s3Options({ bucket: 'b', endpoint, credentials, timeoutMs: 5_000 }));
  onTestFinished(() => bucket.close());
  return await BucketPlace.open(bucket, 'a.car', NEVER);
}

test('on a server that passes a condition over, an object that came during the upload is neither written over nor deleted', async () => {
  const there: { sizeBytes: number | null } = { sizeBytes: null };
  const { endpoint, asked } = await misbehavingServer(({ method }, response) => {
    const xml = (text: string) => {
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
    };
    // In the order of an export: is it there, what was begun, begin, one part, complete.
    const before = asked.filter((one) => one.method === method).length;
    if (method === 'HEAD') {
      if (there.sizeBytes === null) return void response.writeHead(404).end();
      return void response.writeHead(200, { etag: '"other"', 'content-length': there.sizeBytes }).end();
    }
    if (method === 'GET') return before === 1 ? s3Error(response, 404, 'NoSuchKey') : xml(UPLOADS);
    if (method === 'POST') return xml(before === 1 ? UPLOAD : COMPLETED);
    return void response.writeHead(200, { etag: '"part"', 'content-length': 0 }).end();
  });
  const place = await placeAt(endpoint);
  const target = await place.begin(1_000);
  await target.write(new Uint8Array(1_000));
  there.sizeBytes = 7;
  await expect(target.finish()).rejects.toMatchObject({ code: 'bundle/exists' });
  await place.close();
  // One upload was begun, and none completed.
  const methods = asked.map(({ method }) => method);
  expect(methods.filter((method) => method !== 'GET' && method !== 'HEAD')).toEqual(['POST', 'PUT']);
});

test('credentials that may not look for what was begun are told what an export takes', async () => {
  const { endpoint } = await misbehavingServer(({ method, key }, response) => {
    if (method === 'HEAD') return void response.writeHead(404).end();
    return key === 'a.car' ? s3Error(response, 404, 'NoSuchKey') : s3Error(response, 403, 'AccessDenied');
  });
  const place = await placeAt(endpoint);
  await expect(place.begin(1_000)).rejects.toMatchObject({
    code: 'storage/denied',
    hint: expect.stringContaining('s3:ListBucketMultipartUploads and s3:ListMultipartUploadParts'),
  });
});
