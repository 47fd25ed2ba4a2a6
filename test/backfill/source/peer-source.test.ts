import { describe, expect, onTestFinished, test } from 'vitest';
import { PEER, type PeerOptions } from '../../../src/backfill/source/peer-http.ts';
import { PeerSource } from '../../../src/backfill/source/peer-source.ts';
import { NEVER, sampleBlob } from '../../sample-blobs.ts';
import { misbehavingServer } from '../../storage/misbehaving-server.ts';
import { fakeSentinel, lyingPeer } from './imitations.ts';

const blob = sampleBlob('here', 300);
const missing = sampleBlob('not here', 10);
const leftOut = sampleBlob('left out by a rule', 10);

function peer(address: string, options: PeerOptions = PEER): PeerSource {
  const source = new PeerSource(new URL(address), options);
  onTestFinished(() => source.close());
  return source;
}

async function oneBlobHoldfast() {
  return await misbehavingServer(({ path }, response) => {
    if (path === `/v1/blobs/${blob.versionHash}`) {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': blob.bytes.length });
      response.end(blob.bytes);
      return;
    }
    if (path.endsWith(leftOut.versionHash)) {
      response.writeHead(421, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ code: 'blob/not-archived-by-rule' }));
      return;
    }
    const [status, code] = path.includes('451') ? [451, 'blob/withheld'] : [404, 'blob/absent'];
    response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ code }));
  });
}

describe('a Holdfast', () => {
  test('gives raw bytes, and 404 with its code is absence', async () => {
    const { endpoint, asked } = await oneBlobHoldfast();
    const source = peer(endpoint);
    const found = await source.find(blob, NEVER);
    expect(found).toEqual({ kind: 'bytes', candidates: [blob.bytes] });
    expect(await source.find(missing, NEVER)).toEqual({ kind: 'absent' });
    // A peer that leaves it out by rule answers that it has not got the bytes.
    expect(await source.find(leftOut, NEVER)).toEqual({ kind: 'absent', byRule: true });
    expect(await source.size(blob, NEVER)).toBe(300);
    expect(await source.size(missing, NEVER)).toBeNull();
    expect(asked.every(({ path }) => path.startsWith('/v1/blobs/'))).toBe(true);
  });

  test('leaves a blob out by rule at each of its addresses', async () => {
    const { endpoint } = await oneBlobHoldfast();
    for (const path of ['', '/vh/'])
      expect(await peer(`${endpoint}${path}`).find(leftOut, NEVER)).toEqual({ kind: 'absent', byRule: true });
  });

  test('is asked by the 66-character name where the chain says blake2s256', async () => {
    const { endpoint, asked } = await oneBlobHoldfast();
    await peer(endpoint).find({ ...missing, hashType: 'blake2s256' }, NEVER);
    expect(asked[0]?.path).toBe(`/v1/blobs/01${missing.versionHash}`);
  });

  test('a user and a password in the address are sent, and not shown', async () => {
    const { endpoint, asked } = await oneBlobHoldfast();
    const source = peer(endpoint.replace('//', '//me:s%40cret@'));
    await source.find(blob, NEVER);
    expect(asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:s@cret').toString('base64')}`);
    expect(source.name).not.toContain('cret');
  });
});

describe('a Sentinel', () => {
  test.each(['/vh/', '/vh', '/'])('gives hex, and 200 with nothing is absence, at %s', async (path) => {
    const { endpoint, asked } = await fakeSentinel(new Map([[blob.versionHash, blob.bytes]]));
    const source = peer(`${endpoint}${path}`);
    expect((await source.find(blob, NEVER)).kind).toBe('bytes');
    const found = await source.find(blob, NEVER);
    expect(found.kind === 'bytes' && Buffer.compare(found.candidates[0] ?? new Uint8Array(), blob.bytes)).toBe(0);
    expect(await source.find(missing, NEVER)).toEqual({ kind: 'absent' });
    // Once it is known for one, it is not asked as another.
    expect(asked.slice(-2).every((one) => one.path.startsWith('/vh/'))).toBe(true);
    expect(await source.size(blob, NEVER)).toBe('untold');
  });
});

describe('an answer that is no answer is a fault, never absence', () => {
  const impatient = { ...PEER, timeoutMs: 300 };
  test.each([
    ['hang', 'source/timeout', impatient],
    ['drip', 'source/timeout', impatient],
    // A busy machine may take a while for these, and a timeout would hide what they say.
    ['truncate', 'source/unreachable', PEER],
    ['cut', 'source/unreachable', PEER],
    ['503', 'source/busy', PEER],
    ['web-page', 'source/bad-answer', PEER],
    ['endless', 'source/bad-answer', PEER],
  ] as const)('%s', async (lie, code, options) => {
    const { endpoint } = await lyingPeer(lie);
    for (const address of [endpoint, `${endpoint}/vh/`]) {
      await expect(peer(address, options).find(blob, NEVER)).rejects.toMatchObject({ code });
    }
  });

  test('a server without such a route, a redirect, a refusal', async () => {
    const server = (status: number) =>
      misbehavingServer((_, response) => response.writeHead(status, { location: '/x' }).end('no'));
    await expect(peer((await server(404)).endpoint).find(blob, NEVER)).rejects.toMatchObject({
      code: 'source/bad-answer',
    });
    await expect(peer((await server(302)).endpoint).find(blob, NEVER)).rejects.toMatchObject({
      code: 'source/bad-answer',
    });
    await expect(peer((await server(401)).endpoint).find(blob, NEVER)).rejects.toMatchObject({ code: 'source/denied' });
    const nobody = peer('http://127.0.0.1:9');
    await expect(nobody.find(blob, NEVER)).rejects.toMatchObject({ code: 'source/unreachable', retryable: true });
  });

  test('an abort is an abort', async () => {
    const { endpoint } = await lyingPeer('hang');
    await expect(peer(endpoint).find(blob, AbortSignal.abort('enough'))).rejects.toBe('enough');
  });
});
