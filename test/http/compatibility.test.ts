import { describe, expect, test } from 'vitest';
import { MAX_BLOB_BYTES } from '../../src/core/blob/limits.ts';
import type { UnavailableReason } from '../../src/view/archive-view.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable, running } from './harness.ts';
import { daCheck } from './live-clients.ts';
import { rolluxTry } from './rollux-client.ts';

const ABSENT = 'ab'.repeat(32);
const IS_HEX = /^[0-9a-fA-F]*$/;

function archive(sizeBytes = 1_000) {
  const view = new FakeArchiveView();
  const blob = view.add(blobOf(bytesOf(sizeBytes)));
  return { view, blob, url: `/vh/${blob.versionHash}`, ...injectable(view) };
}

describe('GET /vh/{hash}', () => {
  test.each([1, 47, 48, 1_000, 40_001])('gives hex text of %i bytes', async (sizeBytes) => {
    const { inject, url, blob } = archive(sizeBytes);
    const answer = await inject(url);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe(Buffer.from(blob.bytes).toString('hex'));
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain',
      'content-length': String(sizeBytes * 2),
      vary: 'accept',
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });

  test.each([
    ['', { accept: 'application/octet-stream' }],
    ['?format=raw', {}],
    ['?format=raw', { accept: 'text/plain' }],
  ])('gives raw bytes for %s %j', async (query, headers) => {
    const { inject, url, blob } = archive();
    const answer = await inject({ url: `${url}${query}`, headers });
    expect(answer.rawPayload).toEqual(Buffer.from(blob.bytes));
    expect(answer.headers).toMatchObject({ 'content-type': 'application/octet-stream', 'content-length': '1000' });
  });

  test.each([
    ['', { accept: '*/*' }],
    ['', { accept: 'text/html, */*;q=0.8' }],
    ['?format=hex', { accept: 'application/octet-stream' }],
    ['?cache-buster=1', {}],
  ])('gives hex for %s %j', async (query, headers) => {
    const { inject, url } = archive();
    expect((await inject({ url: `${url}${query}`, headers })).body).toMatch(IS_HEX);
  });

  test('HEAD gives the length of each form', async () => {
    const { inject, url } = archive();
    const hex = await inject({ url, method: 'HEAD' });
    const raw = await inject({ url: `${url}?format=raw`, method: 'HEAD' });
    expect([hex.headers['content-length'], hex.rawPayload.length]).toEqual(['2000', 0]);
    expect([raw.headers['content-length'], raw.rawPayload.length]).toEqual(['1000', 0]);
  });

  test('takes 0x and either case, and asks for either hash type', async () => {
    const { inject, view, blob } = archive();
    const blake = view.add(blobOf(bytesOf(9), 'blake2s256'));
    expect((await inject(`/vh/0x${blob.versionHash.toUpperCase()}`)).statusCode).toBe(200);
    expect((await inject(`/vh/${blake.versionHash}`)).body).toBe(Buffer.from(blake.bytes).toString('hex'));
    expect(view.asked.map(({ name }) => name.hashType)).toEqual([null, null]);
  });

  test.each(['zz', `01${ABSENT}`, ABSENT.slice(2), `${ABSENT}?format=base64`, ''])(
    'never answers hex for /vh/%s',
    async (name) => {
      const { inject } = archive();
      const answer = await inject(`/vh/${name}`);
      expect([400, 404]).toContain(answer.statusCode);
      expect(answer.body).not.toMatch(IS_HEX);
    },
  );

  test('gives the whole whatever the client already has, or wants a part of', async () => {
    const { inject, url } = archive();
    const answer = await inject({ url, headers: { 'if-none-match': '*', range: 'bytes=0-1' } });
    expect([answer.statusCode, answer.body.length]).toEqual([200, 2_000]);
  });
});

describe('the base path /raw, for a client that takes the body for the bytes', () => {
  test.each([
    ['', {}],
    ['', { accept: 'text/plain' }],
    ['?format=hex', {}],
  ])('gives raw bytes for %s %j', async (query, headers) => {
    const { inject, blob } = archive();
    const answer = await inject({ url: `/raw/vh/${blob.versionHash}${query}`, headers });
    expect([answer.statusCode, answer.rawPayload]).toEqual([200, Buffer.from(blob.bytes)]);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/octet-stream', 'content-length': '1000' });
  });

  test('gives the whole whatever the client already has, or wants a part of', async () => {
    const { inject, blob } = archive();
    const headers = { 'if-none-match': '*', range: 'bytes=0-1' };
    const answer = await inject({ url: `/raw/vh/${blob.versionHash}`, headers });
    expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 1_000]);
  });

  test('says 404 only for what is proved absent, and 503 for a fault', async () => {
    const { inject, view } = archive();
    expect((await inject(`/raw/vh/${ABSENT}`)).statusCode).toBe(404);
    view.reading = async () => ({ kind: 'unavailable', reason: 'store-fault', message: 'No.', retryAfterSeconds: 1 });
    expect((await inject(`/raw/vh/${ABSENT}`)).statusCode).toBe(503);
  });

  test('heals a blob with the very bytes, where the plain base path would publish its hex text', async () => {
    const view = new FakeArchiveView();
    const blob = view.add(blobOf(bytesOf(5_000)));
    const chain = new FakeChainView();
    chain.mine(blob, 5);
    const { url } = await running(view, {}, chain);
    const healed = async (base: string) => blobOf(await takenByRustClient(base, blob.versionHash)).versionHash;
    expect(await healed(`${url}/raw`)).toBe(blob.versionHash);
    expect(await healed(url)).not.toBe(blob.versionHash);
    expect(await daCheck(`${url}/raw`, [blob.versionHash, ABSENT])).toEqual([true, false]);
  });
});

/** The healing of bitcoin_da_client 0.1.13: what the body is, is published. */
async function takenByRustClient(base: string, versionHash: string): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(`${base}/vh/${versionHash}`)).arrayBuffer());
}

describe('the Rollux op-node, which ignores the status', () => {
  async function rollux(sizeBytes = 5_000) {
    const view = new FakeArchiveView();
    const blob = view.add(blobOf(bytesOf(sizeBytes)));
    const { url, server } = await running(view);
    return { view, blob, server, ask: (hash: string) => rolluxTry(`${url}/vh/`, hash) };
  }

  test.each([1, 5_000, MAX_BLOB_BYTES])('takes the right bytes, %i of them', async (sizeBytes) => {
    const { ask, blob } = await rollux(sizeBytes);
    const outcome = await ask(blob.versionHash);
    expect(outcome.kind === 'taken' && Buffer.compare(outcome.bytes, blob.bytes) === 0).toBe(true);
  });

  test('asks again for what is absent', async () => {
    const { ask } = await rollux();
    expect(await ask(ABSENT)).toEqual({ kind: 'retried' });
  });

  test.each<UnavailableReason>(['not-fetched-yet', 'damaged', 'store-fault', 'cannot-tell'])(
    'asks again under %s, and takes the bytes once they are there',
    async (reason) => {
      const { ask, view, blob } = await rollux();
      view.reading = async () => ({ kind: 'unavailable', reason, message: 'abcdef', retryAfterSeconds: 1 });
      expect(await ask(blob.versionHash)).toEqual({ kind: 'retried' });
      view.reading = null;
      expect(await ask(blob.versionHash)).toMatchObject({ kind: 'taken' });
    },
  );

  test('asks again when the archive throws, or gives another blob', async () => {
    const { ask, view, blob } = await rollux();
    view.reading = () => Promise.reject(new Error(''));
    expect(await ask(blob.versionHash)).toEqual({ kind: 'retried' });
    view.reading = async () => ({ kind: 'found', blob: blobOf(bytesOf(2)) });
    expect(await ask(blob.versionHash)).toEqual({ kind: 'retried' });
  });

  test.each(['zz', '', `${ABSENT}00`, `%ff${ABSENT}`, `${ABSENT}/`, 'a'.repeat(3_000), 'a'.repeat(20_000)])(
    'asks again when its hash is %s',
    async (hash) => {
      const { ask } = await rollux();
      expect(await ask(hash)).toEqual({ kind: 'retried' });
    },
  );

  test('asks again when the archive closes in the middle, or is gone', async () => {
    const { ask, view, blob, server } = await rollux();
    const asked = Promise.withResolvers<void>();
    view.reading = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    const outcome = ask(blob.versionHash);
    await asked.promise;
    await server.close();
    expect(await outcome).toEqual({ kind: 'retried' });
    expect(await ask(blob.versionHash)).toEqual({ kind: 'retried' });
  });
});
