import { describe, expect, onTestFinished, test } from 'vitest';
import { type S3Options, s3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { NEVER, nameOf, sampleBlob } from '../../sample-blobs.ts';
import { type Behaviour, misbehavingServer, object, s3Error } from '../misbehaving-server.ts';

const FIRST = sampleBlob('asked for first', 3_000);
const SECOND = sampleBlob('asked for later', 4_000);
const CREDENTIALS = { accessKeyId: 'key', secretAccessKey: 'very-secret' };

/** Keeps what is put, as a server does; from `turn` on it behaves as it is told. */
function turning() {
  const objects = new Map<string, Buffer>();
  let behaviour: Behaviour | null = null;
  const behave: Behaviour = (one, response) => {
    if (behaviour !== null) return behaviour(one, response);
    if (one.method === 'GET') {
      const there = objects.get(one.key);
      return there === undefined ? s3Error(response, 404, 'NoSuchKey') : object(response, there);
    }
    objects.set(one.key, one.body);
    return void response.writeHead(200, { etag: '"e"', 'content-length': 0 }).end();
  };
  const turn = (next: Behaviour) => {
    behaviour = next;
  };
  return { behave, turn };
}

async function scene(given: Partial<S3Options> = {}) {
  const { behave, turn } = turning();
  const { endpoint, asked } = await misbehavingServer(behave);
  const store = await S3Store.open(s3Options({ bucket: 'some-bucket', endpoint, credentials: CREDENTIALS, ...given }));
  onTestFinished(() => store.close());
  return { store, asked, turn };
}

async function putAndGet(store: S3Store, blob = FIRST): Promise<void> {
  await store.put(blob, 'replace', NEVER);
  expect(await store.get(nameOf(blob), NEVER)).toEqual(Buffer.from(blob.bytes));
}

describe('requests to S3', () => {
  test('names the object below the prefix, with its options, whatever signs the prefix has', async () => {
    const { store, asked } = await scene({
      prefix: 'a prefix (with "signs") & more',
      encryption: { algorithm: 'aws:kms', keyId: 'k1' },
      storageClass: 'STANDARD_IA',
    });
    await putAndGet(store, FIRST);
    await putAndGet(store, SECOND);
    expect(asked.map(({ path }) => path)).toEqual(
      [FIRST, FIRST, SECOND, SECOND].map(
        ({ versionHash }) =>
          `/some-bucket/a%20prefix%20%28with%20%22signs%22%29%20%26%20more/blobs/keccak256/${versionHash}`,
      ),
    );
    expect(asked[2]?.body).toEqual(Buffer.from(SECOND.bytes));
    expect(asked[2]?.headers['x-amz-server-side-encryption-aws-kms-key-id']).toBe('k1');
  });
  test('is signed by the credentials of the moment', async () => {
    let accessKeyId = 'old';
    const { store, asked } = await scene({
      credentials: () => ({ accessKeyId, secretAccessKey: 'very-secret', sessionToken: `token of ${accessKeyId}` }),
    });
    await putAndGet(store);
    accessKeyId = 'new';
    await putAndGet(store);
    const signed = asked.map(({ headers }) => [
      /Credential=(\w+)\//.exec(headers.authorization ?? '')?.[1],
      headers['x-amz-security-token'],
    ]);
    expect(signed).toEqual(['old', 'old', 'new', 'new'].map((id) => [id, `token of ${id}`]));
  });
  test('carries the digest of its own body where a lock asks for one', async () => {
    const { store, asked } = await scene({ objectLock: { mode: 'COMPLIANCE', days: 10 } });
    for (const blob of [FIRST, SECOND]) await store.put(blob, 'replace', NEVER);
    // Before the first, the server is asked for its time.
    const puts = asked.filter(({ method }) => method === 'PUT');
    expect(new Set(puts.map(({ headers }) => headers['content-md5'])).size).toBe(2);
  });
  test('a request that finds the clocks apart is repeated with the right one', async () => {
    const { store, asked, turn } = await scene();
    await putAndGet(store);
    const aheadMs = 3_600_000;
    turn((one, response) => {
      response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
      const stamp = String(one.headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:');
      const isRight = Math.abs(Date.parse(stamp) - Date.now() - aheadMs) < 60_000;
      return isRight ? object(response, FIRST.bytes) : s3Error(response, 403, 'RequestTimeTooSkewed');
    });
    await store.get(nameOf(FIRST), NEVER);
    expect(store.clockOffsetMs).toBeGreaterThan(aheadMs - 60_000);
    await store.get(nameOf(FIRST), NEVER);
    // The second try had the right time, and so has the next question.
    expect(asked).toHaveLength(5);
  });
  test('a get of an absent object says so, after one request', async () => {
    const { store, asked } = await scene();
    await putAndGet(store);
    expect(await store.get(nameOf(SECOND), NEVER)).toBeNull();
    expect(asked).toHaveLength(3);
  });
  test('a put that meets another object under its name replaces it on its condition', async () => {
    const { store, asked, turn } = await scene();
    await putAndGet(store);
    turn((one, response) => {
      if (one.method === 'GET') return object(response, FIRST.bytes, '"wrong"');
      if (one.headers['x-amz-copy-source'] !== undefined) {
        return void response.end('<CopyObjectResult><ETag>"copy"</ETag></CopyObjectResult>');
      }
      if (one.headers['if-none-match'] === '*') return s3Error(response, 412, 'PreconditionFailed');
      response.writeHead(200, { etag: '"right"' }).end();
    });
    await store.put(SECOND, 'replace', NEVER);
    expect(asked.slice(2).map(({ method, headers }) => [method, headers['if-match']])).toEqual([
      ['PUT', undefined],
      ['GET', undefined],
      // A copy of what is wrong is set aside.
      ['PUT', undefined],
      ['PUT', '"wrong"'],
    ]);
  });
  test('is not taken to have put what the answer calls an error after a 200', async () => {
    const { store, turn } = await scene();
    await putAndGet(store);
    turn((_, response) => {
      response.setHeader('etag', '"e"');
      s3Error(response, 200, 'InternalError');
    });
    await expect(store.put(SECOND, 'replace', NEVER)).rejects.toMatchObject({ code: 'storage/busy' });
  });
  test('ends with the reason of the signal when it is given up', async () => {
    const { store, turn } = await scene();
    await putAndGet(store);
    const stopping = new AbortController();
    const reason = new Error('shutting down');
    turn(() => stopping.abort(reason));
    await expect(store.get(nameOf(FIRST), stopping.signal)).rejects.toBe(reason);
  });
});
