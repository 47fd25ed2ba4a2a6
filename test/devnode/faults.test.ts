import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDevnode, type Devnode, type FaultRule } from '../../src/devnode/index.ts';
import { call, post } from './rpc-client.ts';

let devnode: Devnode;
let versionHash: string;
const content = Buffer.alloc(5000, 7);

beforeEach(async () => {
  devnode = await createDevnode({ adminPort: 0 });
  versionHash = devnode.submitBlob(content).versionHash;
  devnode.submitBlob(Buffer.from('another'), { hashType: 'blake2s256' });
  devnode.mine();
});

afterEach(() => devnode.close());

const get = () => call(devnode, 'getnevmblobdata', [versionHash, true]);
const text = async (): Promise<string> => (await post(devnode, '{"method":"getblockcount"}')).text;

describe('the connection goes wrong', () => {
  test('latency', async () => {
    devnode.faults.add({ fault: { kind: 'latency', ms: 80 } });
    const before = performance.now();
    expect(await text()).toBe('{"result":121,"error":null,"id":null}\n');
    expect(performance.now() - before).toBeGreaterThanOrEqual(75);
  });

  test.for([
    ['unauthorized', 401, ''],
    ['work-queue-full', 503, 'Work queue depth exceeded'],
    ['empty-body', 200, ''],
  ] as const)('%s', async ([kind, status, body]) => {
    devnode.faults.add({ fault: { kind } });
    expect(await post(devnode, '{"method":"getblockcount"}')).toMatchObject({ status, text: body });
  });

  test('a page of a proxy', async () => {
    devnode.faults.add({ fault: { kind: 'html', status: 502 } });
    const answer = await post(devnode, '{"method":"getblockcount"}');
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('<html>');
  });

  test('reset, with the call carried out or not', async () => {
    const create = '{"method":"syscoincreatenevmblob","params":["ab"]}';
    devnode.faults.add({ fault: { kind: 'reset', carriedOut: false }, times: 1 });
    await expect(post(devnode, create)).rejects.toThrow('fetch failed');
    expect(devnode.chain.mempool.size).toBe(0);
    devnode.faults.add({ fault: { kind: 'reset' }, times: 1 });
    await expect(post(devnode, create)).rejects.toThrow('fetch failed');
    expect(devnode.chain.mempool.size).toBe(1);
  });

  test('truncation', async () => {
    devnode.faults.add({ fault: { kind: 'truncate', bytes: 300 } });
    await expect(get()).rejects.toThrow();
  });

  test('half of the JSON, and a clean end', async () => {
    devnode.faults.add({ fault: { kind: 'half-json', bytes: 300 } });
    await expect(get()).rejects.toThrow(SyntaxError);
  });

  test('a slow body', async () => {
    devnode.faults.add({ fault: { kind: 'slow-body', bytesPerSecond: 100_000 } });
    const before = performance.now();
    expect((await get()).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThan(60);
  });

  test('a huge body', async () => {
    devnode.faults.add({ fault: { kind: 'huge-body', bytes: 50_000_000 } });
    expect(await text()).toHaveLength(50_000_000);
  });

  test('going away and coming back on the same port', async () => {
    await devnode.goAway();
    await expect(text()).rejects.toThrow('fetch failed');
    devnode.mine();
    await devnode.comeBack();
    expect(await text()).toContain('122');
  });
});

describe('the answer is wrong inside', () => {
  const dataUnder = async (fault: FaultRule['fault']): Promise<string> => {
    devnode.faults.add({ fault });
    const { result } = await get();
    return typeof result === 'object' && result !== null && 'data' in result ? String(result.data) : 'none';
  };
  const hex = content.toString('hex');

  test('warming up', async () => {
    devnode.faults.add({ fault: { kind: 'warming-up' }, times: 1 });
    expect(await get()).toMatchObject({ status: 500, error: { code: -28 } });
    expect((await get()).status).toBe(200);
  });

  test('any RPC error', async () => {
    devnode.faults.add({ fault: { kind: 'rpc-error', code: -32603, message: 'broken' } });
    expect((await get()).error).toEqual({ code: -32603, message: 'broken' });
  });

  test('wrong bytes, once: the next answer is right again', async () => {
    devnode.faults.add({ fault: { kind: 'wrong-bytes' }, times: 1 });
    const { result } = await get();
    expect(JSON.stringify(result)).not.toContain(hex);
    expect(JSON.stringify((await get()).result)).toContain(hex);
  });

  test('wrong size', async () => {
    expect(await dataUnder({ kind: 'wrong-size', byBytes: 1 })).toBe(`${hex}00`);
    devnode.faults.clear();
    expect(await dataUnder({ kind: 'wrong-size', byBytes: -2 })).toBe(hex.slice(0, -4));
  });

  test('odd length', async () => expect(await dataUnder({ kind: 'odd-hex' })).toBe(hex.slice(0, -1)));
  test('no hex', async () => expect(await dataUnder({ kind: 'non-hex' })).toBe(`${hex.slice(0, -1)}g`));
  test('no data', async () => expect(await dataUnder({ kind: 'no-data' })).toBe('none'));

  test('entries twice, and entries that vanish in turns', async () => {
    const listed = async () => (await call(devnode, 'listnevmblobdata', [10])).result;
    devnode.faults.add({ fault: { kind: 'duplicate-entries' }, times: 1 });
    expect(await listed()).toHaveLength(4);
    devnode.faults.add({ fault: { kind: 'vanishing-entries', every: 2 } });
    const [first, second] = [await listed(), await listed()];
    expect(first).toHaveLength(1);
    expect(second).toHaveLength(1);
    expect(first).not.toEqual(second);
  });
});

describe('a rule says which calls go wrong', () => {
  test('by method and hash, after some that go well, and so many', async () => {
    const rule = devnode.faults.add({
      fault: { kind: 'work-queue-full' },
      methods: ['getnevmblobdata'],
      hash: versionHash.toUpperCase(),
      after: 1,
      times: 2,
    });
    expect((await call(devnode, 'getblockcount')).status).toBe(200);
    const statuses: number[] = [];
    for (let index = 0; index < 4; index++) {
      const body = JSON.stringify({ method: 'getnevmblobdata', params: [versionHash] });
      statuses.push((await post(devnode, body)).status);
    }
    expect(statuses).toEqual([200, 503, 503, 200]);
    expect(rule.hits).toBe(2);
    rule.remove();
  });

  test('a rule that is not one is refused', () => {
    expect(() => devnode.faults.add({ fault: { kind: 'latency', ms: -1 } })).toThrow();
  });
});

describe('the admin port', () => {
  const admin = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> => {
    const sent = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await fetch(`${devnode.adminUrl}${path}`, sent);
    return [response.status, await response.json()];
  };

  test('puts up and takes down faults', async () => {
    await admin('POST', '/faults', { fault: { kind: 'unauthorized' } });
    expect((await post(devnode, '{}')).status).toBe(401);
    await admin('DELETE', '/faults');
    expect((await post(devnode, '{}')).status).toBe(400);
  });

  test('mines, moves time, submits, reorganises, locks', async () => {
    const [, before] = await admin('GET', '/state');
    expect(before).toMatchObject({ height: 121, cached: 2, url: devnode.url });
    expect(await admin('POST', '/mine', { count: 2 })).toMatchObject([200, { height: 123 }]);
    expect((await admin('POST', '/submit', { data: 'abcd' }))[0]).toBe(200);
    expect(await admin('POST', '/reorganise', { depth: 3 })).toMatchObject([200, { height: 124, waiting: 0 }]);
    const lock = { blockHash: 'cd'.repeat(32), height: 500 };
    expect(await admin('POST', '/chainlock', lock)).toMatchObject([200, { chainLock: lock }]);
    const now = devnode.nowSeconds();
    await admin('POST', '/advance', { seconds: 3600 });
    expect(devnode.nowSeconds() - now).toBeGreaterThanOrEqual(3600);
  });

  test('refuses what it does not understand, with a reason', async () => {
    expect(await admin('POST', '/mine', { count: -1 })).toMatchObject([
      400,
      { error: expect.stringContaining('count') },
    ]);
    expect((await admin('POST', '/nowhere'))[0]).toBe(404);
  });
});
