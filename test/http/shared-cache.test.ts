import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TokenList } from '../../src/http/token-list.ts';
import { describeWithNginx, startCachingProxy } from '../servers/nginx-server.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeWindowView, windowBlob, windowBlock } from './fake-window-view.ts';
import { injectable, running } from './harness.ts';

const TOKEN = 'a-token-that-nobody-guesses';
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };
const readTokens = TokenList.parse(`sha256:${createHash('sha256').update(TOKEN).digest('hex')}`, 'tokens');
const BLOB = blobOf(bytesOf(300));
const PAGE = new Map([['main-ABCDEFGH.js', Buffer.from('1')]]);

function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  const window = new FakeWindowView();
  window.show([windowBlock(7, [windowBlob(1, 'stored')], true)]);
  view.add(BLOB);
  const { txid } = chain.mine(BLOB, 5);
  const paths = [
    `/v1/blobs/${BLOB.versionHash}`,
    `/v1/custom/${BLOB.versionHash}/${BLOB.versionHash}`,
    `/v1/transactions/${txid}/data`,
    `/vh/${BLOB.versionHash}`,
    `/raw/vh/${BLOB.versionHash}`,
    `/get/0x00${BLOB.versionHash}`,
  ];
  view.keepCustom(BLOB.versionHash, BLOB.versionHash);
  return { view, chain, paths, given: { window, page: { files: async () => PAGE } } };
}

describe('a route whose reading takes a token', () => {
  test('every answer that takes one is private, and differs by Authorization', async () => {
    const { view, chain, paths, given } = archive();
    const { inject } = injectable(view, chain, { ...given, readTokens });
    for (const url of [...paths, '/v1/status', '/v1/blobs']) {
      for (const headers of [AUTHORIZED, {}, { ...AUTHORIZED, 'if-none-match': '*' }]) {
        const answer = await inject({ url, headers });
        expect([url, answer.headers['cache-control']]).toEqual([url, expect.stringMatching(/private|no-store/)]);
        expect([url, answer.headers['cache-control']]).not.toEqual([url, expect.stringMatching(/public/)]);
        expect([url, answer.headers['vary']]).toEqual([url, expect.stringMatching(/authorization/i)]);
      }
    }
    const vary = (await inject({ url: `/vh/${BLOB.versionHash}`, headers: AUTHORIZED })).headers['vary'];
    expect(vary).toMatch(/accept/);
  });

  test('a route that takes none stays public', async () => {
    const { view, chain, given } = archive();
    const { inject } = injectable(view, chain, { ...given, readTokens });
    expect((await inject('/page/main-ABCDEFGH.js')).headers['cache-control']).toContain('public');
  });
});

test('blobs are public and immutable when reading takes no token', async () => {
  const { view, chain, given } = archive();
  const { inject } = injectable(view, chain, given);
  const { headers } = await inject(`/v1/blobs/${BLOB.versionHash}`);
  expect([headers['cache-control'], headers['vary']]).toEqual(['public, max-age=31536000, immutable', undefined]);
});

describeWithNginx('behind a shared cache (nginx, proxy_cache)', () => {
  async function behindNginx(withTokens: boolean) {
    const { view, chain, paths, given } = archive();
    const { url } = await running(view, {}, chain, { ...given, ...(withTokens ? { readTokens } : {}) });
    const proxy = await startCachingProxy(url);
    onTestFinished(() => proxy.stop());
    const get = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${proxy.url}${path}`, { headers });
      const said = `${answer.status} ${answer.headers.get('x-cache')}`;
      return { said, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const ask = async (path: string, headers: Record<string, string> = {}) => (await get(path, headers)).said;
    return { view, chain, paths, get, ask };
  }

  test('a blob that takes a token is refused to a client without one, also after a client with one had it', async () => {
    const { paths, ask } = await behindNginx(true);
    for (const path of paths) {
      expect([path, await ask(path)]).toEqual([path, '401 MISS']);
      expect([path, await ask(path, AUTHORIZED)]).toEqual([path, '200 MISS']);
      expect([path, await ask(path)]).toEqual([path, '401 MISS']);
      expect([path, await ask(path, { authorization: 'Bearer other' })]).toEqual([path, '401 MISS']);
    }
  });

  test('a blob that takes none is asked for once by every path, however many ask at once, and in parts too', async () => {
    const { view, paths, get, ask } = await behindNginx(false);
    const immutable = paths.filter((path) => !path.endsWith('/data'));
    expect(immutable).toHaveLength(paths.length - 1);
    for (const path of immutable) {
      const asked = view.asked.length + view.customAsked;
      const said = await Promise.all(Array.from({ length: 100 }, async () => await ask(path)));
      expect([path, said.filter((one) => one === '200 MISS').length]).toEqual([path, 1]);
      expect(new Set(said)).toEqual(new Set(['200 MISS', '200 HIT']));
      expect([path, view.asked.length + view.customAsked - asked]).toEqual([path, 1]);
    }
    const part = await get(`/v1/blobs/${BLOB.versionHash}`, { range: 'bytes=10-19' });
    expect([part.said, part.bytes]).toEqual(['206 HIT', Buffer.from(BLOB.bytes.subarray(10, 20))]);
  });

  test('hex and bytes of one address are kept apart', async () => {
    const { get } = await behindNginx(false);
    const path = `/vh/${BLOB.versionHash}`;
    const raw = { accept: 'application/octet-stream' };
    for (const cache of ['MISS', 'HIT']) {
      expect((await get(path)).bytes.toString()).toBe(Buffer.from(BLOB.bytes).toString('hex'));
      expect(await get(path, raw)).toEqual({ said: `200 ${cache}`, bytes: Buffer.from(BLOB.bytes) });
    }
  });

  test('an answer that can change a moment later is not kept: errors, refusals, states, lists and places', async () => {
    const { view, paths, ask } = await behindNginx(false);
    const twice = async (path: string) => [path, await ask(path), await ask(path)];
    const states = [
      '/v1/status',
      '/v1/window',
      '/v1/blobs',
      `/v1/blobs/${BLOB.versionHash}/record`,
      '/lastblock',
      '/v1/blocks/5',
    ];
    for (const path of [...states, ...paths.filter((one) => one.endsWith('/data')), '/healthz', '/openapi.json']) {
      expect(await twice(path)).toEqual([path, '200 MISS', '200 MISS']);
    }
    const unknown = blobOf(bytesOf(301)).versionHash;
    const path = `/v1/blobs/${unknown}`;
    expect(await twice(path)).toEqual([path, '404 MISS', '404 MISS']);
    view.losses.set(unknown, { recordedAt: 'then', sources: [] });
    expect(await twice(path)).toEqual([path, '410 MISS', '410 MISS']);
    view.losses.clear();
    view.reading = async () => ({ kind: 'unavailable', reason: 'store-fault', message: 'No.', retryAfterSeconds: 1 });
    expect(await twice(path)).toEqual([path, '503 MISS', '503 MISS']);
    view.reading = null;
    view.refusing = { kind: 'withheld', at: null, publicReason: null };
    for (const one of paths) expect(await twice(one)).toEqual([one, '451 MISS', '451 MISS']);
    // Nothing of that stays behind: from now on it is there, and the cache has it.
    view.refusing = null;
    view.add(blobOf(bytesOf(301)));
    expect(await twice(path)).toEqual([path, '200 MISS', '200 HIT']);
  });
});
