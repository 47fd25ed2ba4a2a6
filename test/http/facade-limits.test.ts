import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { facadeRoutes } from '../../src/http/facade.ts';
import { FakeArchiveView } from './fake-archive-view.ts';
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
  test('a batch of a thousand whole windows is answered as far as it is reasonable, and what is behind is a fault', async () => {
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
    const [route] = facadeRoutes(new FakeArchiveView(), chain, 'syscoin-5', SYSTEM_CLOCK);
    const calls = Array.from({ length: 1_000 }, () => ({ method: 'getblockcount' }));
    const answer = route?.answer({
      parameters: {},
      query: {},
      method: 'POST',
      body: Buffer.from(JSON.stringify(calls)),
      header: () => undefined,
      signal: gone.signal,
      report: () => undefined,
      client: 'a',
      isLocal: false,
      hold: async () => undefined,
      isTight: () => false,
      sending: { whenBegun: () => undefined, whenSent: () => undefined, cut: () => undefined },
      releaseMemory: () => undefined,
    });
    setImmediate(() => gone.abort(new Error('gone')));
    await expect(answer).rejects.toThrow('gone');
    expect(asked).toBeLessThan(100);
  });
});
