import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { BucketPlace } from '../../src/bundle/bucket-place.ts';
import { S3Bucket } from '../../src/storage/s3/s3-bucket.ts';
import { type S3Options, s3Options } from '../../src/storage/s3/s3-options.ts';
import { NEVER } from '../sample-blobs.ts';
import { misbehavingServer, s3Error } from '../storage/misbehaving-server.ts';

const UPLOAD = '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>';
const UPLOADS = '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>';
const COMPLETED = '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>';

async function placeAt(endpoint: string, encryption: S3Options['encryption'] = null): Promise<BucketPlace> {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const bucket = await S3Bucket.open(s3Options({ bucket: 'b', endpoint, credentials, encryption }));
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

const KEY = '1234abcd-12ab-34cd-56ef-1234567890ab';
const KMS = { algorithm: 'aws:kms', keyId: KEY } as const;

/** An upload of before, `u0`, which has the first of two parts, and how the server says that it is encrypted. */
const BEGUN_BEFORE = [
  ['is begun again where it was begun without', KMS, {}, true],
  [
    'is begun again where it was begun with another key',
    KMS,
    {
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'arn:aws:kms:eu:1:key/older',
    },
    true,
  ],
  [
    'is begun again where it was begun with a key of the bucket',
    KMS,
    { 'x-amz-server-side-encryption': 'AES256' },
    true,
  ],
  [
    'goes on where it was begun with the same key',
    KMS,
    {
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': `arn:aws:kms:eu:1:key/${KEY}`,
    },
    false,
  ],
  ['goes on where none is asked for', null, {}, false],
] as const;

test.each(BEGUN_BEFORE)('an upload that an earlier run began %s', async (_, encryption, answered, isAnew) => {
  const bytes = new Uint8Array(8_388_608 + 1_000);
  const etag = createHash('md5').update(bytes.subarray(0, 8_388_608)).digest('hex');
  const begun = `<ListMultipartUploadsResult><Upload><Key>a.car</Key><UploadId>u0</UploadId></Upload></ListMultipartUploadsResult>`;
  const parts = `<ListPartsResult><Part><PartNumber>1</PartNumber><ETag>"${etag}"</ETag><Size>8388608</Size></Part></ListPartsResult>`;
  const puts: string[] = [];
  const { endpoint } = await misbehavingServer(({ method, url }, response) => {
    const xml = (text: string) => {
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
    };
    if (method === 'HEAD') return void response.writeHead(404).end();
    if (url.searchParams.has('uploads')) return xml(method === 'POST' ? UPLOAD : begun);
    if (method === 'POST') return xml(COMPLETED);
    const id = url.searchParams.get('uploadId');
    if (method === 'GET') return id === null ? s3Error(response, 404, 'NoSuchKey') : xml(parts);
    if (method !== 'PUT') return void response.writeHead(204).end();
    const number = url.searchParams.get('partNumber');
    puts.push(`${id}/${number}`);
    response.writeHead(200, { etag: number === '1' ? `"${etag}"` : '"second"', ...answered }).end();
  });
  const place = await placeAt(endpoint, encryption);
  const target = await place.begin(bytes.length);
  await target.write(bytes);
  // The object is not there to be read back: what was put is looked at.
  await expect(target.finish()).rejects.toMatchObject({ code: 'bundle/wrong-bytes' });
  await place.close();
  if (isAnew) expect(puts).toEqual(['u0/1', 'u1/1', 'u1/2']);
  else expect(puts).toEqual(encryption === null ? ['u0/2'] : ['u0/1', 'u0/2']);
});
