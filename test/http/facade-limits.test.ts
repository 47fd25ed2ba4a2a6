import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseTxId, parseVersionHash } from '../../src/blob/ids.ts';
import { facadeRoutes } from '../../src/http/facade.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable } from './harness.ts';

const MIB = 1_048_576;
const REPLIES = z.array(z.object({ result: z.unknown(), error: z.object({ code: z.int() }).nullable() }));

/** A window as the main network can have it. */
function fullWindow(): FakeChainView {
  const chain = new FakeChainView();
  for (let index = 0; index < 5_000; index += 1) {
    chain.unmined.push({
      hashType: 'keccak256',
      versionHash: parseVersionHash(index.toString(16).padStart(64, '0')),
      txid: parseTxId(index.toString(16).padStart(64, 'f')),
      medianTimeSeconds: 1_700_000_000,
      sizeBytes: 1_000,
    });
  }
  return chain;
}

describe('a batch', () => {
  test('of a thousand whole windows is answered as far as it is reasonable, and what is behind is a fault', async () => {
    const { inject } = injectable(new FakeArchiveView(), fullWindow());
    const calls = Array.from({ length: 1_024 }, (_, id) => ({ id, method: 'listnevmblobdata', params: [5_000] }));
    const answer = await inject({ method: 'POST', url: '/', payload: JSON.stringify(calls) });
    expect(answer.statusCode).toBe(200);
    expect(answer.body.length).toBeLessThan(5 * MIB);
    const replies = REPLIES.parse(answer.json());
    expect(replies).toHaveLength(1_024);
    expect(replies[0]).toMatchObject({ error: null });
    expect(replies.at(-1)).toMatchObject({ result: null, error: { code: -32603 } });
  });

  test('lets others have their turn, and ends with its client', async () => {
    const chain = new FakeChainView();
    const gone = new AbortController();
    let asked = 0;
    chain.tip = () => {
      asked += 1;
      const until = performance.now() + 3;
      while (performance.now() < until);
      return { kind: 'unavailable', reason: 'walk-behind', message: 'Later.', retryAfterSeconds: 1 };
    };
    const [route] = facadeRoutes(new FakeArchiveView(), chain, 'syscoin-5');
    const calls = Array.from({ length: 1_000 }, () => ({ method: 'getblockcount' }));
    const answer = route?.answer({
      parameters: {},
      query: {},
      method: 'POST',
      body: Buffer.from(JSON.stringify(calls)),
      header: () => undefined,
      signal: gone.signal,
      report: () => undefined,
    });
    setImmediate(() => gone.abort(new Error('gone')));
    await expect(answer).rejects.toThrow('gone');
    expect(asked).toBeLessThan(100);
  });
});

describe('before it is read, a body is weighed as the most that it can be answered with', () => {
  const passage = { methods: new Set(['getblock']), call: async () => ({ result: '1' }) };
  const weighed = (body: string, passed: typeof passage | null = null) => {
    const [route] = facadeRoutes(new FakeArchiveView(), new FakeChainView(), 'syscoin-4.4', passed);
    return route?.weighBytes({ body: Buffer.from(body) }) ?? 0;
  };
  const hash = blobOf(bytesOf(9)).versionHash;

  test.each([
    ['a batch', `[{"method":"getnevmblobdata","params":["${hash}",true]}]`],
    ['with spaces in front', ` \n[ {"method":"getnevmblobdata","params":["${hash}",true]}]`],
    ['with a byte order mark', `\uFEFF[ {"method":"getnevmblobdata","params":["${hash}",true]}]`],
    ['a list with data', '{"method":"listnevmblobdata","params":[99,0,{"getdata":true}]}'],
    ['a list that is spelled otherwise', '{"method":"list\\u006eevmblobdata","params":[99,0,{"getdata":true}]}'],
  ])('%s', (_what, body) => {
    expect(weighed(body)).toBeGreaterThanOrEqual(96 * MIB);
  });

  test('what is handed on to a node, whatever it is spelled like', () => {
    for (const body of ['{"method":"getblock","params":["x",2]}', '{"method":"get\\u0062lock","params":["x",2]}']) {
      expect(weighed(body, passage)).toBeGreaterThanOrEqual(32 * MIB);
    }
  });

  test('and a small call as little', () => {
    expect(weighed('{"method":"getblockcount"}')).toBeLessThan(MIB);
    const one = weighed(`{"method":"getnevmblobdata","params":["${hash}",true]}`);
    expect(one).toBeGreaterThanOrEqual(6 * MIB);
    expect(one).toBeLessThan(7 * MIB);
  });

  test('what it is read into counts too: it stays while its calls are answered', () => {
    expect(weighed(`[{"method":"waitfornewblock"},[${'1,'.repeat(100_000)}1]]`)).toBeGreaterThan(12 * MIB);
  });
});
