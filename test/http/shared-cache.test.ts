import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TokenList } from '../../src/http/token-list.ts';
import { describeWithNginx, startCachingProxy } from '../servers/nginx-server.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable, running } from './harness.ts';

const TOKEN = 'a-token-that-nobody-guesses';
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };
const readTokens = TokenList.parse(`sha256:${createHash('sha256').update(TOKEN).digest('hex')}`, 'tokens');
const BLOB = blobOf(bytesOf(300));
const PAGE = new Map([['main-ABCDEFGH.js', Buffer.from('1')]]);

function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
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
  return { view, chain, paths, given: { page: { files: async () => PAGE } } };
}

describe('where reading takes a token', () => {
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

  test('what takes none stays public', async () => {
    const { view, chain, given } = archive();
    const { inject } = injectable(view, chain, { ...given, readTokens });
    expect((await inject('/page/main-ABCDEFGH.js')).headers['cache-control']).toContain('public');
  });
});

test('where reading takes no token, blobs are public and immutable', async () => {
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
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${proxy.url}${path}`, { headers });
      await answer.arrayBuffer();
      return `${answer.status} ${answer.headers.get('x-cache')}`;
    };
    return { paths, ask };
  }

  test('a blob that takes a token is given to nobody without one, also after somebody with one had it', async () => {
    const { paths, ask } = await behindNginx(true);
    for (const path of paths) {
      expect([path, await ask(path)]).toEqual([path, '401 MISS']);
      expect([path, await ask(path, AUTHORIZED)]).toEqual([path, '200 MISS']);
      expect([path, await ask(path)]).toEqual([path, '401 MISS']);
      expect([path, await ask(path, { authorization: 'Bearer other' })]).toEqual([path, '401 MISS']);
    }
  });

  test('a blob that takes none comes from the cache', async () => {
    const { ask } = await behindNginx(false);
    const path = `/v1/blobs/${BLOB.versionHash}`;
    expect([await ask(path), await ask(path)]).toEqual(['200 MISS', '200 HIT']);
  });
});
