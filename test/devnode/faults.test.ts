import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDevnode, type Devnode, type FaultRule } from '../../src/devnode/index.ts';
import { freePort } from '../servers/child-server.ts';
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

describe('faults of the connection', () => {
  test('latency delays the answer', async () => {
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

  test('html answers the page of a proxy', async () => {
    devnode.faults.add({ fault: { kind: 'html', status: 502 } });
    const answer = await post(devnode, '{"method":"getblockcount"}');
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('<html>');
  });

  test('reset breaks the connection with or without the effect of the call', async () => {
    const create = '{"method":"syscoincreatenevmblob","params":["ab"]}';
    devnode.faults.add({ fault: { kind: 'reset', carriedOut: false }, times: 1 });
    await expect(post(devnode, create)).rejects.toThrow('fetch failed');
    expect(devnode.chain.mempool.size).toBe(0);
    devnode.faults.add({ fault: { kind: 'reset' }, times: 1 });
    await expect(post(devnode, create)).rejects.toThrow('fetch failed');
    expect(devnode.chain.mempool.size).toBe(1);
  });

  test('truncate breaks the connection inside the body', async () => {
    devnode.faults.add({ fault: { kind: 'truncate', bytes: 300 } });
    await expect(get()).rejects.toThrow();
  });

  test('half-json ends the connection cleanly inside the JSON', async () => {
    devnode.faults.add({ fault: { kind: 'half-json', bytes: 300 } });
    await expect(get()).rejects.toThrow(SyntaxError);
  });

  test('slow-body sends the body slowly', async () => {
    devnode.faults.add({ fault: { kind: 'slow-body', bytesPerSecond: 100_000 } });
    const before = performance.now();
    expect((await get()).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThan(60);
  });

  test('huge-body sends an endless body', async () => {
    devnode.faults.add({ fault: { kind: 'huge-body', bytes: 50_000_000 } });
    expect(await text()).toHaveLength(50_000_000);
  });

  test('the node goes away and comes back on the same port', async () => {
    await devnode.close();
    devnode = await createDevnode({ port: await freePort() });
    await devnode.goAway();
    await expect(text()).rejects.toThrow('fetch failed');
    devnode.mine();
    await devnode.comeBack();
    expect(await text()).toContain('121');
  });
});

describe('faults inside the answer', () => {
  const dataUnder = async (fault: FaultRule['fault']): Promise<string> => {
    devnode.faults.add({ fault });
    const { result } = await get();
    return typeof result === 'object' && result !== null && 'data' in result ? String(result.data) : 'none';
  };
  const hex = content.toString('hex');

  test('warming-up answers -28', async () => {
    devnode.faults.add({ fault: { kind: 'warming-up' }, times: 1 });
    expect(await get()).toMatchObject({ status: 500, error: { code: -28 } });
    expect((await get()).status).toBe(200);
  });

  test('rpc-error answers any RPC error', async () => {
    devnode.faults.add({ fault: { kind: 'rpc-error', code: -32603, message: 'broken' } });
    expect((await get()).error).toEqual({ code: -32603, message: 'broken' });
  });

  test('wrong-bytes changes one answer, and the next one is right', async () => {
    devnode.faults.add({ fault: { kind: 'wrong-bytes' }, times: 1 });
    const { result } = await get();
    expect(JSON.stringify(result)).not.toContain(hex);
    expect(JSON.stringify((await get()).result)).toContain(hex);
  });

  test('wrong-size changes the length of the data', async () => {
    expect(await dataUnder({ kind: 'wrong-size', byBytes: 1 })).toBe(`${hex}00`);
    devnode.faults.clear();
    expect(await dataUnder({ kind: 'wrong-size', byBytes: -2 })).toBe(hex.slice(0, -4));
  });

  test('odd-length gives an odd number of hex digits', async () =>
    expect(await dataUnder({ kind: 'odd-hex' })).toBe(hex.slice(0, -1)));
  test('no-hex gives other characters', async () =>
    expect(await dataUnder({ kind: 'non-hex' })).toBe(`${hex.slice(0, -1)}g`));
  test('no-data leaves the data out', async () => expect(await dataUnder({ kind: 'no-data' })).toBe('none'));

  test('duplicate-entries doubles entries, and vanishing-entries hides other ones each time', async () => {
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

describe('the filter of a rule', () => {
  test('a rule hits a method and a hash, after some successes and a limited number of times', async () => {
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

  test('a malformed rule is refused', () => {
    expect(() => devnode.faults.add({ fault: { kind: 'latency', ms: -1 } })).toThrow();
  });
});

describe('the admin port', () => {
  const admin = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> => {
    const sent = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await fetch(`${devnode.adminUrl}${path}`, sent);
    return [response.status, await response.json()];
  };

  test('the admin port adds and removes faults', async () => {
    await admin('POST', '/faults', { fault: { kind: 'unauthorized' } });
    expect((await post(devnode, '{}')).status).toBe(401);
    await admin('DELETE', '/faults');
    expect((await post(devnode, '{}')).status).toBe(400);
  });

  test('the admin port mines, moves time, submits, reorganises and locks', async () => {
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

  test('the admin port refuses a malformed request with a reason', async () => {
    expect(await admin('POST', '/mine', { count: -1 })).toMatchObject([
      400,
      { error: expect.stringContaining('count') },
    ]);
    expect((await admin('POST', '/nowhere'))[0]).toBe(404);
  });
});
