import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { codeOf } from '../../../src/core/blob/errors.ts';
import { StorageError } from '../../../src/storage/errors.ts';
import { listBlobs } from '../../../src/storage/object-store.ts';
import { type S3Options, s3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { nobleHasher } from '../../../src/verify/hasher.ts';
import { verifyBlob } from '../../../src/verify/verified-blob.ts';
import { NEVER, nameOf, sampleBlob, sampleBytes } from '../../sample-blobs.ts';
import { type Behaviour, html, misbehavingServer, object, s3Error } from '../misbehaving-server.ts';

const BLOB = sampleBlob('of a misbehaving server', 50_000);
const EMPTY = new Uint8Array();

async function storeAt(endpoint: string, given: Partial<S3Options> = {}): Promise<S3Store> {
  const store = await S3Store.open(
    s3Options({
      bucket: 'some-bucket',
      endpoint,
      credentials: { accessKeyId: 'key', secretAccessKey: 'very-secret' },
      ...given,
    }),
  );
  onTestFinished(() => store.close());
  return store;
}

async function against(behave: Behaviour, given: Partial<S3Options> = {}) {
  const server = await misbehavingServer(behave);
  return { store: await storeAt(server.endpoint, given), asked: server.asked };
}

async function errorOf(work: Promise<unknown>): Promise<StorageError> {
  const outcome: unknown = await work.catch((error: unknown) => error);
  if (outcome instanceof StorageError) return outcome;
  return expect.unreachable(`no storage error: ${String(outcome)}`);
}

function cutShort(r: ServerResponse): void {
  r.writeHead(200, { etag: '"e"', 'content-length': 50_000 });
  r.write(BLOB.bytes.subarray(0, 1_000), () => r.destroy());
}

const ANSWERS: readonly [string, Behaviour, string, boolean, RegExp][] = [
  ['500', (_, r) => s3Error(r, 500, 'InternalError'), 'storage/fault', true, /failed/],
  ['503 SlowDown', (_, r) => s3Error(r, 503, 'SlowDown'), 'storage/busy', true, /fewer requests/],
  ['429', (_, r) => s3Error(r, 429, 'TooManyRequests'), 'storage/busy', true, /fewer requests/],
  [
    'parts that its disks have lost',
    (_, r) => s3Error(r, 503, 'SlowDownRead'),
    'storage/unreadable',
    true,
    /its own disks/,
  ],
  ['a token of others', (_, r) => s3Error(r, 403, 'InvalidTokenId'), 'storage/bad-credentials', false, /credentials/],
  ['403', (_, r) => s3Error(r, 403, 'AccessDenied'), 'storage/denied', false, /does not permit/],
  ['a bucket that is missing', (_, r) => s3Error(r, 404, 'NoSuchBucket'), 'storage/no-bucket', false, /no such bucket/],
  ['unknown keys', (_, r) => s3Error(r, 403, 'InvalidAccessKeyId'), 'storage/bad-credentials', false, /credentials/],
  [
    'unknown keys, of versitygw',
    (_, r) => s3Error(r, 404, 'XAdminUserNotFound'),
    'storage/bad-credentials',
    false,
    /credentials/,
  ],
  ['a wrong signature', (_, r) => s3Error(r, 403, 'SignatureDoesNotMatch'), 'storage/bad-credentials', false, /cred/],
  ['another region', (_, r) => s3Error(r, 301, 'PermanentRedirect'), 'storage/wrong-region', false, /another region/],
  ['a skewed clock', (_, r) => s3Error(r, 403, 'RequestTimeTooSkewed'), 'storage/clock-skew', true, /clock/],
  ['no space', (_, r) => s3Error(r, 507, 'XMinioStorageFull'), 'storage/full', true, /no space left/],
  ['a key that is missing at MinIO', (_, r) => s3Error(r, 404, 'kms:KeyNotFound'), 'storage/refused', false, /the key/],
  ['a key that AWS disabled', (_, r) => s3Error(r, 400, 'KMS.DisabledException'), 'storage/refused', false, /the key/],
  ['an archive class', (_, r) => s3Error(r, 403, 'InvalidObjectState'), 'storage/archived', false, /archive class/],
  ['an unknown option', (_, r) => s3Error(r, 400, 'InvalidStorageClass'), 'storage/refused', false, /refuses/],
  ['a web page with 200', (_, r) => html(r, 200), 'storage/not-s3', false, /as an S3 server/],
  ['a web page with 404', (_, r) => html(r, 404), 'storage/not-s3', false, /as an S3 server/],
  ['a gateway page with 502', (_, r) => html(r, 502), 'storage/fault', true, /failed/],
  ['a bare 404', (_, r) => void r.writeHead(404).end(), 'storage/not-s3', false, /as an S3 server/],
  ['a cut connection', (_, r) => void r.destroy(), 'storage/unreachable', true, /closed the connection/],
];

describe('an S3 store tells what a server says', () => {
  test.each(ANSWERS)('%s', async (_name, behave, code, retryable, words) => {
    const { store } = await against(behave);
    for (const [operation, work] of [
      ['put', () => store.put(BLOB, 'replace', NEVER)],
      ['get', () => store.get(nameOf(BLOB), NEVER)],
      ['stat', () => store.stat(nameOf(BLOB), NEVER)],
      ['list', () => Array.fromAsync(listBlobs(store, NEVER))],
    ] as const) {
      const error = await errorOf(work());
      // A HEAD has no body: what only the body says is not known there, and never "not there".
      if (operation !== 'stat') expect([operation, error.code]).toEqual([operation, code]);
      if (operation !== 'stat') expect(error.retryable).toBe(retryable);
      if (operation !== 'stat') expect(error.message).toMatch(words);
      expect(error.message).toMatch(/^The s3 store at http:\/\/127\.0\.0\.1:\d+\/some-bucket /);
      expect(error.message).toContain(`(${operation}: `);
      expect(error.details).toMatchObject({ backend: 's3', operation });
      expect(error.hint).not.toBe('');
      expect(JSON.stringify([error.message, error.details, error.hint])).not.toContain('very-secret');
    }
  });

  test('"not there" is only NoSuchKey, for the question about size as well', async () => {
    const { store, asked } = await against((one, r) =>
      one.method === 'HEAD' ? void r.writeHead(404).end() : s3Error(r, 404, 'NoSuchKey'),
    );
    expect(await store.get(nameOf(BLOB), NEVER)).toBeNull();
    expect(await store.stat(nameOf(BLOB), NEVER)).toBeNull();
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'HEAD', 'GET']);
  });

  test('a HEAD that says 404 over a missing bucket is no "not there"', async () => {
    const { store } = await against((one, r) =>
      one.method === 'HEAD' ? void r.writeHead(404).end() : s3Error(r, 404, 'NoSuchBucket'),
    );
    expect((await errorOf(store.stat(nameOf(BLOB), NEVER))).code).toBe('storage/no-bucket');
  });

  test('a listing of no versions is no proof that there is nothing to purge', async () => {
    const { store, asked } = await against((one, r) => {
      if (one.method === 'DELETE') r.writeHead(204).end();
      else if (one.method === 'HEAD' || !one.key.startsWith('?')) object(r, one.method === 'HEAD' ? EMPTY : BLOB.bytes);
      else if (one.key.includes('versions')) r.writeHead(200).end('<ListVersionsResult></ListVersionsResult>');
      else r.writeHead(200).end('<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>');
    });
    expect(await store.purge(nameOf(BLOB), NEVER)).toBe(true);
    expect(asked.filter(({ method }) => method === 'DELETE').map(({ key }) => key)).toEqual([
      `blobs/${BLOB.hashType}/${BLOB.versionHash}`,
    ]);
  });

  test.each([
    { by: 'AWS', status: 403, name: 'AccessDenied', says: 'Access Denied because object protected by object lock.' },
    { by: 'MinIO', status: 400, name: 'InvalidRequest', says: 'Object is WORM protected and cannot be overwritten' },
  ])('an object that object lock holds, as $by says it', async ({ status, name, says }) => {
    const { store } = await against((_, r) => s3Error(r, status, name, says));
    const error = await errorOf(store.delete(nameOf(BLOB), NEVER));
    expect([error.code, error.retryable]).toEqual(['storage/locked', false]);
  });
});

test('encryption that a server without a key service cannot do is refused, as MinIO says it', async () => {
  const { store } = await against((one, r) =>
    one.method === 'PUT' ? s3Error(r, 501, 'NotImplemented') : s3Error(r, 404, 'NoSuchKey'),
  );
  const error = await errorOf(store.put(BLOB, 'replace', NEVER));
  expect([error.code, error.retryable, error.hint]).toEqual([
    'storage/refused',
    false,
    expect.stringContaining('encryption'),
  ]);
});

test.each(['Bucket is missing ObjectLockConfiguration', 'Bucket is missing Object Lock Configuration'])(
  'a retention for a bucket without object lock is no lock that holds (%s)',
  async (says) => {
    const { store } = await against((_, r) => s3Error(r, 400, 'InvalidRequest', says));
    const error = await errorOf(store.put(BLOB, 'replace', NEVER));
    expect([error.code, error.hint]).toEqual(['storage/refused', expect.stringContaining('object lock switched on')]);
  },
);

describe('an S3 store before a server that', () => {
  test('hangs: gives up in time, and says so', async () => {
    const { store } = await against(() => {}, { timeoutMs: 150 });
    const error = await errorOf(store.get(nameOf(BLOB), NEVER));
    expect([error.code, error.retryable]).toEqual(['storage/timeout', true]);
    expect(error.message).toContain('did not answer within 0.15 s');
  });

  test('closes a connection once: it is asked again at once', async () => {
    let closed = false;
    const { store, asked } = await against((_, r) => {
      if (closed) object(r, BLOB.bytes);
      else r.destroy();
      closed = true;
    });
    expect(await store.get(nameOf(BLOB), NEVER)).toEqual(Buffer.from(BLOB.bytes));
    expect(asked).toHaveLength(2);
  });

  test('hangs in the middle of a body: the same', async () => {
    const { store } = await against(
      (_, r) => {
        r.writeHead(200, { etag: '"e"', 'content-length': 50_000 });
        r.write(BLOB.bytes.subarray(0, 1_000));
      },
      { timeoutMs: 150 },
    );
    expect((await errorOf(store.get(nameOf(BLOB), NEVER))).code).toBe('storage/timeout');
  });

  test('hangs: an abort ends it with the reason of the signal', async () => {
    const stopping = new AbortController();
    const reason = new Error('shutting down');
    const { store } = await against(() => stopping.abort(reason));
    await expect(store.get(nameOf(BLOB), stopping.signal)).rejects.toBe(reason);
    await expect(store.put(BLOB, 'replace', stopping.signal)).rejects.toBe(reason);
  });

  test('cuts a body short: a fault that a retry can help, never bytes', async () => {
    const { store } = await against((_, r) => cutShort(r));
    const error = await errorOf(store.get(nameOf(BLOB), NEVER));
    expect([error.code, error.retryable]).toEqual(['storage/truncated', true]);
    expect(error.message).toContain('1000 of 50000 bytes came');
  });

  test('cuts a body short of which it said no length: a fault as well', async () => {
    const { store } = await against((_, r) => {
      r.writeHead(200, { etag: '"e"' });
      r.write(BLOB.bytes.subarray(0, 1_000), () => r.destroy());
    });
    expect((await errorOf(store.get(nameOf(BLOB), NEVER))).code).toBe('storage/truncated');
  });

  test('ends a body by closing the connection: nothing tells that it is whole, so that it is a fault', async () => {
    const { store } = await against((_, r) => {
      r.useChunkedEncodingByDefault = false;
      r.writeHead(200, { etag: '"e"', connection: 'close' });
      r.end(BLOB.bytes.subarray(0, 1_000));
    });
    const error = await errorOf(store.get(nameOf(BLOB), NEVER));
    expect([error.code, error.message]).toEqual(['storage/not-s3', expect.stringContaining('how long')]);
  });

  test('announces or sends far more than a blob: reads no more than one byte too many', async () => {
    const { store } = await against((_, r) => {
      r.writeHead(200, { etag: '"e"', 'content-length': 1_000_000_000 });
      r.write(Buffer.alloc(3_000_000));
    });
    expect((await store.get(nameOf(BLOB), NEVER))?.length).toBe(2_097_153);
  });

  test('corrupts: the bytes come as they are, and do not verify', async () => {
    const { store } = await against((_, r) => object(r, sampleBytes('corrupt', 50_000)));
    const found = await store.get(nameOf(BLOB), NEVER);
    expect(found === null || verifyBlob({ ...nameOf(BLOB), bytes: found }, nobleHasher)).toBeNull();
  });

  test('says 412 over wrong bytes: they are replaced, on the condition that they are still those', async () => {
    let there: Uint8Array = sampleBytes('wrong', 50_000);
    const { store, asked } = await against((one, r) => {
      if (one.method === 'GET') return object(r, there, '"wrong"');
      if (isCopy(one)) return copied(r);
      if (one.headers['if-none-match'] === '*') return s3Error(r, 412, 'PreconditionFailed');
      there = one.body;
      r.writeHead(200, { etag: '"right"' }).end();
    });
    await store.put(BLOB, 'replace', NEVER);
    expect(Buffer.compare(there, BLOB.bytes)).toBe(0);
    expect(asked.map(({ method, headers }) => [method, headers['if-none-match'], headers['if-match']])).toEqual([
      ['PUT', '*', undefined],
      ['GET', undefined, undefined],
      // The wrong object is copied aside before it is replaced.
      ['PUT', undefined, undefined],
      ['PUT', undefined, '"wrong"'],
    ]);
    expect(asked.map(isCopy)).toEqual([false, false, true, false]);
  });

  test('refuses a large body before it has read it, and closes: what is right is found, what is wrong replaced', async () => {
    let there: Uint8Array | null = BLOB.bytes;
    const { store, asked } = await against((one, r) => {
      if (isCopy(one)) return copied(r);
      if (one.headers['if-none-match'] === '*') return void r.destroy();
      if (one.method === 'GET') return there === null ? s3Error(r, 404, 'NoSuchKey') : object(r, there, '"wrong"');
      there = one.body;
      r.writeHead(200, { etag: '"right"' }).end();
    });
    await store.put(BLOB, 'replace', NEVER);
    expect(asked.some(({ method, headers }) => method === 'PUT' && headers['if-match'] !== undefined)).toBe(false);
    there = sampleBytes('wrong', 50_000);
    await store.put(BLOB, 'replace', NEVER);
    expect(Buffer.compare(there, BLOB.bytes)).toBe(0);
    there = null;
    expect((await errorOf(store.put(BLOB, 'replace', NEVER))).code).toBe('storage/unreachable');
  });

  test.each<{ fault: string; answer: Behaviour }>([
    { fault: 'refuses to give', answer: (_, r) => s3Error(r, 503, 'SlowDownRead') },
    { fault: 'fails to give', answer: (_, r) => s3Error(r, 500, 'InternalError') },
    { fault: 'gives half of', answer: (_, r) => cutShort(r) },
  ])('says 412 over an object that it $fault: it is rewritten', async ({ answer }) => {
    let there: Uint8Array | null = null;
    const { store } = await against((one, r) => {
      if (one.method === 'GET') return there === null ? answer(one, r) : object(r, there);
      if (isCopy(one)) return copied(r);
      if (one.headers['if-none-match'] === '*') return s3Error(r, 412, 'PreconditionFailed');
      there = one.body;
      r.writeHead(200, { etag: '"right"' }).end();
    });
    await store.put(BLOB, 'replace', NEVER);
    expect(there).toEqual(Buffer.from(BLOB.bytes));
  });

  test('cuts what is right off once: it is looked at again, and not written over', async () => {
    let isCut = false;
    const { store, asked } = await against((one, r) => {
      if (one.method === 'PUT') return s3Error(r, 412, 'PreconditionFailed');
      if (isCut) return object(r, BLOB.bytes);
      isCut = true;
      cutShort(r);
    });
    await store.put(BLOB, 'replace', NEVER);
    expect(asked.map(({ method }) => method)).toEqual(['PUT', 'GET', 'GET']);
  });

  test('says 412 over nothing: never success', async () => {
    const { store } = await against((one, r) =>
      one.method === 'PUT' ? s3Error(r, 412, 'PreconditionFailed') : s3Error(r, 404, 'NoSuchKey'),
    );
    const error = await errorOf(store.put(BLOB, 'replace', NEVER));
    expect([error.code, error.retryable]).toEqual(['storage/conflict', true]);
  });

  test('knows no conditions: what is right is left alone, what is wrong is written over', async () => {
    let there: Uint8Array = sampleBytes('wrong', 50_000);
    const { store, asked } = await against((one, r) => {
      if (one.method === 'GET') return object(r, there);
      if (isCopy(one)) return copied(r);
      if (one.headers['if-none-match'] !== undefined) return s3Error(r, 501, 'NotImplemented');
      there = one.body;
      r.writeHead(200, { etag: '"e"' }).end();
    });
    await store.put(BLOB, 'replace', NEVER);
    expect(Buffer.compare(there, BLOB.bytes)).toBe(0);
    const written = () => asked.filter(({ method, headers }) => method === 'PUT' && !headers['if-none-match']).length;
    const before = written();
    await store.put(BLOB, 'replace', NEVER);
    expect(written()).toBe(before);
  });

  test.each([
    {
      how: 'on a condition',
      refuse: (r: ServerResponse) => s3Error(r, 412, 'PreconditionFailed'),
      ofNothing: { error: null, isWritten: false },
    },
    {
      how: 'by closing before it has read it',
      refuse: (r: ServerResponse) => void r.destroy(),
      ofNothing: { error: 'storage/unreachable', isWritten: false },
    },
    {
      how: 'knowing no conditions',
      refuse: (r: ServerResponse) => s3Error(r, 501, 'NotImplemented'),
      ofNothing: { error: null, isWritten: true },
    },
  ])('refuses a put $how: without a look, the existing object stays as it is', async ({ refuse, ofNothing }) => {
    let there: Uint8Array | null = sampleBytes('wrong', 50_000);
    const { store } = await against((one, r) => {
      if (one.method === 'PUT' && one.headers['if-none-match'] === '*') return refuse(r);
      if (one.method === 'PUT') there = one.body;
      if (there === null) return one.method === 'HEAD' ? void r.writeHead(404).end() : s3Error(r, 404, 'NoSuchKey');
      if (one.method === 'GET') return object(r, there);
      r.writeHead(200, { etag: '"e"', ...(one.method === 'HEAD' ? { 'content-length': there.length } : {}) }).end();
    });
    await store.put(BLOB, 'create', NEVER);
    expect(there).toEqual(sampleBytes('wrong', 50_000));
    there = null;
    const error = await store.put(BLOB, 'create', NEVER).then(() => null, codeOf);
    // The read-back finds out that nothing is there after a 412.
    expect({ error, isWritten: there !== null }).toEqual(ofNothing);
  });

  test.each(['<html><head><title>Hi</title></head><body><p>Welcome</p></body></html>', '<ListBucketResult/>', ''])(
    'answers a listing with %j: a fault, never a bucket that holds nothing',
    async (page) => {
      const { store } = await against((_, r) => void r.writeHead(200, { 'content-type': 'application/xml' }).end(page));
      expect((await errorOf(Array.fromAsync(listBlobs(store, NEVER)))).code).toBe('storage/not-s3');
    },
  );

  test.each(['many', '-1', '1.5', '20\u0010'])('lists an object of %j bytes: a fault', async (size) => {
    const listed = `<Contents><Key>blobs/${BLOB.hashType}/${BLOB.versionHash}</Key><Size>${size}</Size></Contents>`;
    const page = `<ListBucketResult><KeyCount>1</KeyCount>${listed}</ListBucketResult>`;
    const { store } = await against((_, r) => void r.writeHead(200).end(page));
    expect((await errorOf(Array.fromAsync(listBlobs(store, NEVER)))).code).toBe('storage/not-s3');
  });

  test('gives the same page for ever, as a cache that leaves the query out does: a listing ends with a fault', async () => {
    const page = '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken>';
    const { store, asked } = await against((_, r) => void r.writeHead(200).end(`${page}</ListBucketResult>`));
    expect((await errorOf(Array.fromAsync(listBlobs(store, NEVER)))).code).toBe('storage/not-s3');
    expect(asked).toHaveLength(2);
  });

  test('gives the same page of versions for ever: a purge ends with a fault', async () => {
    const page = '<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>';
    const { store, asked } = await against((one, r) =>
      one.key.includes('versions') ? void r.writeHead(200).end(`${page}</ListVersionsResult>`) : listing(r),
    );
    expect((await errorOf(store.purge(nameOf(BLOB), NEVER))).code).toBe('storage/not-s3');
    expect(asked).toHaveLength(3);
  });

  test('lies about success: the read-back tells', async () => {
    const { store } = await against((one, r) =>
      one.method === 'PUT' ? void r.writeHead(200, { etag: '"e"' }).end() : s3Error(r, 404, 'NoSuchKey'),
    );
    await store.put(BLOB, 'replace', NEVER);
    expect(await store.get(nameOf(BLOB), NEVER)).toBeNull();
    const findings = await store.probe(NEVER).catch(() => []);
    expect(findings).toEqual([expect.objectContaining({ check: 'reachable', grade: 'fault' })]);
  });
});

function isCopy({ headers }: { readonly headers: IncomingHttpHeaders }): boolean {
  return headers['x-amz-copy-source'] !== undefined;
}

function copied(r: ServerResponse): void {
  r.writeHead(200, { 'content-type': 'application/xml' });
  r.end('<CopyObjectResult><ETag>"copy"</ETag></CopyObjectResult>');
}

/** Lists nothing, and keeps what is put, as a server does. */
function honest(): Behaviour {
  const objects = new Map<string, Buffer>();
  return (one, r) => {
    if (one.key.startsWith('?')) return listing(r);
    const there = objects.get(one.key);
    switch (one.method) {
      case 'PUT':
        if (there !== undefined && one.headers['if-none-match'] === '*') return s3Error(r, 412, 'PreconditionFailed');
        objects.set(one.key, one.body);
        return void r.writeHead(200, { etag: '"e"' }).end();
      case 'DELETE':
        objects.delete(one.key);
        return void r.writeHead(204).end();
      default:
        return there === undefined ? s3Error(r, 404, 'NoSuchKey') : object(r, there);
    }
  };
}

function listing(r: ServerResponse): void {
  r.writeHead(200, { 'content-type': 'application/xml' });
  r.end('<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>');
}

describe('the probe of a bucket says in a sentence that', () => {
  async function findingsOf(behave: Behaviour, given: Partial<S3Options> = {}) {
    const { store } = await against(behave, given);
    return new Map((await store.probe(NEVER)).map((finding) => [finding.check, finding]));
  }

  test('the bucket is healthy', async () => {
    const findings = await findingsOf(honest());
    expect([...findings.values()].every(({ grade }) => grade === 'good')).toBe(true);
    expect(findings.size).toBe(7);
  });

  test('a missing key is answered with 403, and which permission is missing', async () => {
    const well = honest();
    const written = new Set<string>();
    const findings = await findingsOf((one, r) => {
      if (one.method === 'PUT') written.add(one.key);
      if (one.key.startsWith('?') || (one.method === 'GET' && !written.has(one.key))) {
        return s3Error(r, 403, 'AccessDenied');
      }
      well(one, r);
    });
    expect(findings.get('reachable')).toMatchObject({ grade: 'warning', hint: expect.stringContaining('ListBucket') });
    expect(findings.get('missing-key')).toMatchObject({
      grade: 'fault',
      sentence: expect.stringContaining('"denied" (403) for a missing key'),
      hint: expect.stringContaining('s3:ListBucket'),
    });
    expect(findings.get('readable')?.grade).toBe('good');
  });

  test('the bucket refuses writes', async () => {
    const well = honest();
    const findings = await findingsOf((one, r) =>
      one.method === 'PUT' ? s3Error(r, 403, 'AccessDenied') : well(one, r),
    );
    expect(findings.get('writable')).toMatchObject({ grade: 'fault', hint: expect.stringContaining('s3:PutObject') });
    expect(findings.has('readable')).toBe(false);
  });

  test('conditional put is ignored, or not known', async () => {
    const well = honest();
    const ignored = await findingsOf((one, r) => well({ ...one, headers: {} }, r));
    expect(ignored.get('conditional-put')).toMatchObject({
      grade: 'warning',
      sentence: expect.stringContaining('ignores'),
    });
    const unknown = await findingsOf((one, r) =>
      one.headers['if-none-match'] === undefined ? well(one, r) : s3Error(r, 501, 'NotImplemented'),
    );
    expect(unknown.get('conditional-put')).toMatchObject({ sentence: expect.stringContaining('does not know') });
  });

  test('the bucket loses an object that it acknowledged', async () => {
    const well = honest();
    const findings = await findingsOf((one, r) =>
      one.method === 'PUT' ? void r.writeHead(200, { etag: '"e"' }).end() : well(one, r),
    );
    expect(findings.get('readable')).toMatchObject({
      grade: 'fault',
      sentence: expect.stringContaining('has not got'),
    });
  });

  test('the clocks are apart', async () => {
    const well = honest();
    const findings = await findingsOf((one, r) => {
      r.setHeader('date', new Date(Date.now() - 400_000).toUTCString());
      well(one, r);
    });
    expect(findings.get('clock')).toMatchObject({
      grade: 'warning',
      sentence: expect.stringMatching(/4[0-5]\d s behind/),
    });
  });

  test('the bucket does not tell whether it has object lock', async () => {
    const well = honest();
    const findings = await findingsOf(
      (one, r) => (one.key.startsWith('?object-lock') ? s3Error(r, 403, 'AccessDenied') : well(one, r)),
      { objectLock: { mode: 'GOVERNANCE', days: 1 } },
    );
    expect(findings.get('object-lock')).toMatchObject({
      grade: 'warning',
      hint: expect.stringContaining('s3:GetBucketObjectLockConfiguration'),
    });
    expect(findings.get('writable')?.grade).toBe('good');
  });

  test('deleting is not permitted', async () => {
    const well = honest();
    const findings = await findingsOf((one, r) =>
      one.method === 'DELETE' ? s3Error(r, 403, 'AccessDenied') : well(one, r),
    );
    expect(findings.get('deletable')?.grade).toBe('warning');
  });

  test('the address has no listener, or its name does not resolve', async () => {
    // No server asks for this port, and none is given it.
    const refusing = await storeAt('http://127.0.0.1:9');
    expect(await refusing.probe(NEVER)).toMatchObject([
      { check: 'reachable', grade: 'fault', sentence: expect.stringContaining('refuses connections') },
    ]);
    // A question for a name that is lost on its way is asked again after five seconds.
    const unknown = await storeAt('http://no-such-host.invalid', { connectTimeoutMs: 120_000 });
    expect(await unknown.probe(NEVER)).toMatchObject([{ sentence: expect.stringContaining('does not resolve') }]);
  });

  test('the port speaks TLS, or does not', async () => {
    const { endpoint } = await misbehavingServer(honest());
    const store = await storeAt(endpoint.replace('http:', 'https:'));
    const error = await errorOf(store.get(nameOf(BLOB), NEVER));
    expect([error.code, error.hint]).toEqual(['storage/tls', expect.stringContaining('http://')]);
  });
});

test('a key template must name type and hash, once each', async () => {
  await expect(storeAt('http://127.0.0.1:9', { keyTemplate: 'blobs/{versionHash}' })).rejects.toMatchObject({
    code: 'storage/unknown-format',
  });
});

test('encryption, storage class and object lock are asked for with every blob, and only there', async () => {
  const { store, asked } = await against(honest(), {
    encryption: { algorithm: 'aws:kms', keyId: 'k1' },
    storageClass: 'STANDARD_IA',
    objectLock: { mode: 'COMPLIANCE', days: 10 },
  });
  await store.put(BLOB, 'replace', NEVER);
  // The server's clock is asked for first.
  const headers = asked.find(({ method }) => method === 'PUT')?.headers ?? {};
  expect(headers).toMatchObject({
    'x-amz-server-side-encryption': 'aws:kms',
    'x-amz-server-side-encryption-aws-kms-key-id': 'k1',
    'x-amz-storage-class': 'STANDARD_IA',
    'x-amz-object-lock-mode': 'COMPLIANCE',
    'content-md5': expect.any(String),
  });
  const days = (Date.parse(String(headers['x-amz-object-lock-retain-until-date'])) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(9.99);
  expect(Object.keys(headers).filter((name) => name.includes('checksum'))).toEqual([]);
});
