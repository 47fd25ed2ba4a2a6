import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { bundlePage } from '../../src/app/bundle-page.ts';
import { PAGE_POLICY, type PageFiles, type PageSource } from '../../src/http/page.ts';
import { TokenList } from '../../src/http/token-list.ts';
import { FakeArchiveView } from './fake-archive-view.ts';
import { injectable } from './harness.ts';

/** All of the page together, packed: it is meant for slow lines too. */
const MAX_PACKED_BYTES = 60 * 1_024;

const text = new TextEncoder();
const FILES: PageFiles = new Map([
  ['index.html', text.encode('<script src="page/main-ABCDEFGH.js"></script>')],
  ['main-ABCDEFGH.js', text.encode('export {};'.repeat(100))],
]);
const source = (files: PageFiles | null): PageSource => ({ files: async () => files });
const served = (files: PageFiles | null = FILES) =>
  injectable(new FakeArchiveView(), undefined, { page: source(files) });

describe('the page', () => {
  test('is at /, under its policy, and asked for again each time', async () => {
    const { inject } = served();
    const answer = await inject('/');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.headers).toMatchObject({
      'content-security-policy': PAGE_POLICY,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
    });
    for (const rule of ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]) {
      expect(PAGE_POLICY).toContain(rule);
    }
    expect(PAGE_POLICY).not.toContain('unsafe');
    const tag = String(answer.headers.etag);
    expect((await inject({ url: '/', headers: { 'if-none-match': tag } })).statusCode).toBe(304);
  });

  test('has files that never change under their names, packed for clients that take that', async () => {
    const { inject } = served();
    const url = '/page/main-ABCDEFGH.js';
    const plain = await inject(url);
    expect(plain.headers['cache-control']).toContain('immutable');
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(plain.headers['vary']).toBe('accept-encoding');
    for (const accepting of ['gzip', 'gzip, br', 'br;q=1.0, gzip;q=0.5', '*', 'deflate,gzip;q=0.001']) {
      const packed = await inject({ url, headers: { 'accept-encoding': accepting } });
      expect(packed.headers['content-encoding'], accepting).toBe('gzip');
      expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body);
      expect(packed.headers.etag).not.toBe(plain.headers.etag);
    }
    for (const refusing of ['gzip;q=0', 'gzip;q=0.0', 'br', 'identity', 'xgzip', '']) {
      const unpacked = await inject({ url, headers: { 'accept-encoding': refusing } });
      expect([unpacked.headers['content-encoding'], unpacked.body], refusing).toEqual([undefined, plain.body]);
    }
  });

  test.each(['/page/other-ABCDEFGH.js', '/page/index.html', '/page/..%2F..%2Fpackage.json', '/page/__proto__'])(
    '%s is not there',
    async (url) => {
      const answer = await served().inject(url);
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'http/no-such-route']);
    },
  );

  test('says at / in words when it cannot be built, and the archive answers all the same', async () => {
    const { inject } = served(null);
    const answer = await inject('/');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
    expect(answer.body).toContain('its page could not be built');
    expect(answer.headers['content-security-policy']).toBe(PAGE_POLICY);
    expect((await inject('/v1/status')).statusCode).toBe(200);
  });

  test('shares its path with the façade', async () => {
    const { inject } = served();
    const answer = await inject({ method: 'POST', url: '/', payload: '{"id":1,"method":"getblockcount","params":[]}' });
    expect(answer.json()).toMatchObject({ id: 1, error: null });
    expect((await inject({ method: 'PUT', url: '/' })).headers.allow).toBe('GET, HEAD, POST, OPTIONS');
  });

  test('loads without a token where reading takes one; the façade on its path does not', async () => {
    const readTokens = TokenList.parse(`sha256:${'ab'.repeat(32)}`, 'tokens');
    const { inject } = injectable(new FakeArchiveView(), undefined, { page: source(FILES), readTokens });
    expect((await inject('/')).statusCode).toBe(200);
    expect((await inject('/page/main-ABCDEFGH.js')).statusCode).toBe(200);
    expect((await inject({ method: 'POST', url: '/', payload: '{}' })).statusCode).toBe(401);
    for (const url of ['/v1/window', '/v1/events', '/v1/status']) expect((await inject(url)).statusCode).toBe(401);
  });
});

describe('the files of the page', () => {
  test('are built from source, small, and the index names them by their bytes', async () => {
    const files = await bundlePage();
    const index = new TextDecoder().decode(files.get('index.html'));
    const [first, second] = [...index.matchAll(/"page\/([^"]+)"/g)].map(([, name]) => name ?? '');
    expect([first, second].map((name) => files.has(name ?? ''))).toEqual([true, true]);
    const { inject } = served(files);
    const sizes = await Promise.all(
      [...files.keys()].map(async (name) => {
        const url = name === 'index.html' ? '/' : `/page/${name}`;
        return (await inject({ url, headers: { 'accept-encoding': 'gzip' } })).rawPayload.length;
      }),
    );
    const packed = sizes.reduce((sum, size) => sum + size, 0);
    expect(packed).toBeGreaterThan(1_000);
    expect(packed).toBeLessThan(MAX_PACKED_BYTES);
  });

  test('hold nothing that makes markup of data, and nothing from elsewhere', async () => {
    const all = [...(await bundlePage()).values()].map((bytes) => new TextDecoder().decode(bytes)).join('\n');
    expect(
      all.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|WebAssembly/g),
    ).toBeNull();
    const addresses = [...all.matchAll(/https?:\/\/[\w.:/-]+/g)].map(([address]) => address);
    expect(new Set(addresses)).toEqual(new Set(['http://www.w3.org/2000/svg']));
    expect(all).not.toMatch(/<[a-z][^>]*\son[a-z]+=|\sstyle="|<style/i);
  });
});
