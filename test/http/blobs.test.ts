import { CID } from 'multiformats/cid';
import { describe, expect, test } from 'vitest';
import { contentOfCid } from '../../src/core/blob/cid.ts';
import type { Unavailable, UnavailableReason } from '../../src/view/archive-view.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { injectable } from './harness.ts';

const ABSENT = 'ab'.repeat(32);

function archive() {
  const view = new FakeArchiveView();
  const blob = view.add(blobOf(bytesOf(1_000)));
  return { view, blob, url: `/v1/blobs/${blob.versionHash}`, ...injectable(view) };
}

function unavailable(reason: UnavailableReason, retryAfterSeconds = 7): Unavailable {
  return { kind: 'unavailable', reason, message: `It is ${reason}.`, retryAfterSeconds };
}

describe('GET /v1/blobs/{version hash}', () => {
  test('gives the bytes, named and cacheable for ever', async () => {
    const { inject, url, blob } = archive();
    const answer = await inject(url);
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload).toEqual(Buffer.from(blob.bytes));
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '1000',
      'accept-ranges': 'bytes',
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"keccak256:${blob.versionHash}"`,
    });
  });

  test('HEAD gives the same headers and no byte', async () => {
    const { inject, url } = archive();
    const { date: _get, 'x-request-id': _id, ...headers } = (await inject(url)).headers;
    const head = await inject({ url, method: 'HEAD' });
    expect(head.headers).toMatchObject(headers);
    expect(head.rawPayload.length).toBe(0);
  });

  test('takes 0x and either case', async () => {
    const { inject, blob } = archive();
    for (const name of [`0x${blob.versionHash}`, `0X${blob.versionHash.toUpperCase()}`]) {
      expect((await inject(`/v1/blobs/${name}`)).rawPayload).toEqual(Buffer.from(blob.bytes));
    }
  });

  test('takes the 66 characters of the chain as blake2s256 and nothing else', async () => {
    const { inject, view, blob } = archive();
    const blake = view.add(blobOf(bytesOf(500), 'blake2s256'));
    expect((await inject(`/v1/blobs/01${blake.versionHash}`)).rawPayload).toEqual(Buffer.from(blake.bytes));
    expect((await inject(`/v1/blobs/0x01${blake.versionHash}`)).statusCode).toBe(200);
    expect((await inject(`/v1/blobs/01${blob.versionHash}`)).statusCode).toBe(404);
  });

  test.each([
    'zz',
    'ab'.repeat(31),
    `${ABSENT}ab`,
    `${'g'.repeat(64)}`,
    '%00',
    '..%2f..%2fetc%2fpasswd',
    'a'.repeat(1_500),
  ])('refuses the name %s', async (name) => {
    const { inject, view } = archive();
    const answer = await inject(`/v1/blobs/${name}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'malformed/version-hash', status: 400 });
    expect(view.asked).toEqual([]);
  });

  test('says 404 for what is proved absent', async () => {
    const { inject } = archive();
    const answer = await inject(`/v1/blobs/${ABSENT}`);
    expect(answer.statusCode).toBe(404);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
    expect(answer.json()).toEqual({
      type: 'urn:holdfast:problem:blob/absent',
      title: 'No such blob',
      status: 404,
      code: 'blob/absent',
      detail: `There is no blob with version hash ${ABSENT}.`,
      hint: expect.stringContaining('Check the hash'),
    });
  });

  test.each<UnavailableReason>(['not-fetched-yet', 'damaged', 'store-fault', 'cannot-tell'])(
    'says 503 and when to come back: %s',
    async (reason) => {
      const { inject, view, url } = archive();
      view.reading = async () => unavailable(reason);
      for (const path of [url, `${url}/record`, url.replace('v1/blobs', 'vh')]) {
        const answer = await inject(path);
        expect(answer.statusCode).toBe(503);
        expect(answer.headers).toMatchObject({ 'retry-after': '7', 'cache-control': 'no-store' });
        expect(answer.json()).toMatchObject({ code: `blob/${reason}`, detail: `It is ${reason}.` });
      }
    },
  );

  test.each([
    [0, '1'],
    [-3, '1'],
    [1.2, '2'],
    [Number.NaN, '5'],
    [1e9, '3600'],
  ])('makes a usable Retry-After of %d seconds', async (seconds, header) => {
    const { inject, view, url } = archive();
    view.reading = async () => unavailable('damaged', seconds);
    expect((await inject(url)).headers['retry-after']).toBe(header);
  });

  test('never gives the bytes of another name, even if the archive does', async () => {
    const { inject, view, url, reported } = archive();
    const other = blobOf(bytesOf(3));
    view.reading = async () => ({ kind: 'found', blob: other });
    const answer = await inject(url);
    expect(answer.statusCode).toBe(500);
    expect(reported).toMatchObject([{ error: { code: 'archive/wrong-bytes' } }]);
  });
});

describe('parts and conditions', () => {
  test('gives one part', async () => {
    const { inject, url, blob } = archive();
    const answer = await inject({ url, headers: { range: 'bytes=10-19' } });
    expect(answer.statusCode).toBe(206);
    expect(answer.headers).toMatchObject({ 'content-range': 'bytes 10-19/1000', 'content-length': '10' });
    expect(answer.rawPayload).toEqual(Buffer.from(blob.bytes.subarray(10, 20)));
  });

  test('refuses a part behind the end', async () => {
    const { inject, url } = archive();
    const answer = await inject({ url, headers: { range: 'bytes=1000-' } });
    expect(answer.statusCode).toBe(416);
    expect(answer.headers['content-range']).toBe('bytes */1000');
    expect(answer.json()).toMatchObject({ code: 'http/range-not-satisfiable' });
  });

  test.each([{ range: 'bytes=0-1,3-4' }, { range: 'lines=1-2' }, { range: 'bytes=1-2', 'if-range': '"other"' }])(
    'gives the whole for %j',
    async (headers) => {
      const { inject, url } = archive();
      const answer = await inject({ url, headers });
      expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 1_000]);
    },
  );

  test('gives a part to a client whose tag still holds', async () => {
    const { inject, url, blob } = archive();
    const headers = { range: 'bytes=1-2', 'if-range': `"keccak256:${blob.versionHash}"` };
    expect((await inject({ url, headers })).statusCode).toBe(206);
  });

  test('HEAD ignores a range', async () => {
    const { inject, url } = archive();
    const answer = await inject({ url, method: 'HEAD', headers: { range: 'bytes=1-2' } });
    expect([answer.statusCode, answer.headers['content-length']]).toEqual([200, '1000']);
  });

  test('says 304 to who has it, before any range', async () => {
    const { inject, url, blob } = archive();
    const etag = `"keccak256:${blob.versionHash}"`;
    const answer = await inject({ url, headers: { 'if-none-match': `W/${etag}`, range: 'bytes=1-2' } });
    expect([answer.statusCode, answer.rawPayload.length]).toEqual([304, 0]);
    expect(answer.headers).toMatchObject({ etag, 'cache-control': 'public, max-age=31536000, immutable' });
    expect(answer.headers['content-length']).toBeUndefined();
  });

  test('does not say 304 for what is not here', async () => {
    const { inject } = archive();
    expect((await inject({ url: `/v1/blobs/${ABSENT}`, headers: { 'if-none-match': '*' } })).statusCode).toBe(404);
  });
});

describe('record and listing', () => {
  test('a record is JSON that is not cached', async () => {
    const { inject, url, blob } = archive();
    const answer = await inject(`${url}/record`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expect(answer.json()).toMatchObject({ versionHash: blob.versionHash, hashType: 'keccak256', sizeBytes: 1_000 });
    // Multibase base32 of CIDv1, raw, keccak-256: IPFS finds and verifies the blob by this name alone.
    expect(answer.json().cid).toMatch(/^bafkrw/);
    expect(contentOfCid(CID.parse(answer.json().cid))).toEqual({
      hashType: 'keccak256',
      versionHash: blob.versionHash,
    });
  });

  test('an absent record is 404', async () => {
    const { inject } = archive();
    expect((await inject(`/v1/blobs/${ABSENT}/record`)).json()).toMatchObject({ code: 'blob/absent' });
  });

  test('members that the archive keeps for itself stay out of a record', async () => {
    const { inject, view, blob } = archive();
    const [record] = view.list({ after: null, limit: 1, order: 'newest' }).records;
    if (record === undefined) throw new Error('The listing is empty.');
    const withMore = {
      ...record,
      path: '/data/blobs',
      lastFailure: { code: 'a', message: 'b', attempts: 2, stack: 'c' },
    };
    view.listing = () => ({ records: [withMore], next: null });
    const [listed] = (await inject('/v1/blobs')).json().blobs;
    expect(listed.versionHash).toBe(blob.versionHash);
    expect(listed.path).toBeUndefined();
    expect(listed.lastFailure).toEqual({ code: 'a', message: 'b', attempts: 2 });
  });

  test('a listing pages by cursor', async () => {
    const { inject, view, blob } = archive();
    const first = (await inject('/v1/blobs')).json();
    expect(first).toMatchObject({ blobs: [{ versionHash: blob.versionHash }], next: 'cursor-1' });
    expect((await inject(`/v1/blobs?after=${first.next}&limit=1000&order=oldest`)).json()).toMatchObject({
      next: null,
    });
    expect(view.listed).toEqual([
      { after: null, limit: 100, order: 'newest' },
      { after: 'cursor-1', limit: 1_000, order: 'oldest' },
    ]);
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=5&limit=6', 'limit'],
    ['order=up', 'order'],
    ['order=', 'order'],
    ['after=', 'after'],
    [`after=${'a'.repeat(513)}`, 'after'],
    ['after=a&after=b', 'after'],
    ['limt=5', 'limt'],
    ['__proto__=1', '__proto__'],
  ])('refuses ?%s and names it', async (query, parameter) => {
    const { inject, view } = archive();
    const answer = await inject(`/v1/blobs?${query}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'http/bad-parameter', parameter });
    expect(answer.json().detail).toContain(JSON.stringify(parameter));
    expect(view.listed).toEqual([]);
  });

  test('refuses a cursor of its own making without telling what is inside', async () => {
    const { inject, reported } = archive();
    const answer = await inject('/v1/blobs?after=made-up');
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'archive/bad-cursor', parameter: 'after' });
    expect(answer.body).not.toContain('table');
    expect(reported).toEqual([]);
  });
});
