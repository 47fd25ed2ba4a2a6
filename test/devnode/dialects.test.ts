import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { versionHashOf } from '../../src/devnode/chain/content.ts';
import { createDevnode, type Devnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { DIALECTS, type Dialect, METHOD_TABLE, type Operation, wireMethod } from '../../src/node/method-table.ts';
import { call, post } from './rpc-client.ts';

const open: Devnode[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((devnode) => devnode.close()));
});

async function start(dialect: Dialect, options: DevnodeOptions = {}): Promise<Devnode> {
  const devnode = await createDevnode({ dialect, ...options });
  open.push(devnode);
  return devnode;
}

const operations = Object.keys(METHOD_TABLE).filter((name): name is Operation => name in METHOD_TABLE);

describe.for(DIALECTS)('%s', (dialect) => {
  test('the dialect has its own operations and no others', async () => {
    const devnode = await start(dialect);
    const own = new Set(operations.flatMap((operation) => wireMethod(operation, dialect)?.method ?? []));
    const all = new Set(
      operations.flatMap((operation) => DIALECTS.flatMap((other) => wireMethod(operation, other)?.method ?? [])),
    );
    for (const method of all) {
      // Too many arguments make an existing operation answer its help without any effect.
      const { status, error } = await call(devnode, method, Array(9).fill(null));
      if (own.has(method))
        expect([method, status, error?.code, error?.message.split(/[ \n]/)[0]]).toEqual([method, 500, -1, method]);
      else expect([method, status, error?.code]).toEqual([method, 404, -32601]);
    }
  });

  test('the dialect reports its release', async () => {
    const { result } = await call(await start(dialect), 'getnetworkinfo');
    const versions = { svc: 40400, 'syscoin-4.2': 40202, 'syscoin-4.4': 40401, 'syscoin-5': 50101 };
    expect(result).toMatchObject({ version: versions[dialect] });
  });
});

const bytes = Buffer.from('a blob');
const keccak = versionHashOf('keccak256', bytes);
const blake = versionHashOf('blake2s256', bytes);
const hex = bytes.toString('hex');

describe('svc', () => {
  test('a blob has exactly version hash, size and data, in list and get', async () => {
    const devnode = await start('svc');
    const created = await call(devnode, 'svccreatenevmblob', [hex, true, 6, 'ECONOMICAL']);
    expect(created.result).toMatchObject({ versionhash: keccak, datasize: 6 });
    const bare = { versionhash: keccak, datasize: 6 };
    expect((await call(devnode, 'listnevmblobdata')).result).toEqual([bare]);
    expect((await call(devnode, 'listnevmblobdata', [10, 0, { getdata: true }])).result).toEqual([
      { ...bare, data: hex },
    ]);
    devnode.mine();
    expect((await call(devnode, 'getnevmblobdata', [keccak, true])).result).toEqual({ ...bare, data: hex });
  });

  test('a custom version hash is accepted', async () => {
    const devnode = await start('svc');
    const custom = 'c0'.repeat(32);
    expect((await call(devnode, 'svccreaterawnevmblob', [custom, hex])).result).toHaveProperty('txid');
    devnode.mine();
    expect((await call(devnode, 'getnevmblobdata', [custom, true])).result).toMatchObject({ data: hex });
  });

  test('fees accept a rate or a target but not both, in any case, as numbers and text', async () => {
    const devnode = await start('svc');
    const create = (...fee: unknown[]) => call(devnode, 'svccreatenevmblob', ['ab', true, ...fee]);
    expect((await create(null, null, '25.5')).status).toBe(200);
    expect((await create(null, 'unset', 30)).status).toBe(200);
    expect((await create(6, null, 30)).error?.code).toBe(-8);
    expect((await create(null, 'sometimes')).error?.code).toBe(-8);
    expect((await create(null, null, 'much')).error?.code).toBe(-3);
    expect((await create(0)).error?.code).toBe(-8);
  });
});

describe('syscoin-4.4', () => {
  test('a blob has mpt, no txid, and data in the list on request', async () => {
    const devnode = await start('syscoin-4.4');
    const { txid } = Object((await call(devnode, 'syscoincreatenevmblob', [hex])).result);
    const list = async () => (await call(devnode, 'listnevmblobdata', [10, 0, { getdata: true, stats: true }])).result;
    const entry = { versionhash: keccak, datasize: 6, data: hex };
    expect(await list()).toEqual([{ ...entry, mpt: 0 }]);
    devnode.mine();
    const mpt = devnode.chain.cache.get(keccak)?.medianTimeSeconds;
    expect(await list()).toEqual([{ ...entry, mpt }]);
    const members = async (asked: string) =>
      Object.keys(Object((await call(devnode, 'getnevmblobdata', [asked, true])).result)).join();
    expect([await members(keccak), await members(txid)]).toEqual([
      'versionhash,mpt,datasize,data',
      'versionhash,mpt,datasize,blockhash,height,data',
    ]);
  });

  test('a BLAKE2s hash answers a txid and is never accepted, because only keccak256 is known', async () => {
    const devnode = await start('syscoin-4.4');
    expect((await call(devnode, 'syscoincreaterawnevmblob', [blake, hex])).result).toHaveProperty('txid');
    expect((await call(devnode, 'syscoincreaterawnevmblob', [keccak, hex])).result).toHaveProperty('txid');
    devnode.mine();
    expect(devnode.chain.cache.size).toBe(1);
  });

  test('the map honours `from`; of the store, a page has every entry before its end', async () => {
    const devnode = await start('syscoin-4.4');
    for (let index = 0; index < 20; index++) devnode.submitBlob(Buffer.from(`stored ${index}`));
    devnode.mine(4);
    for (let index = 0; index < 3; index++) devnode.submitBlob(Buffer.from(`fresh ${index}`));
    const Page = z.array(z.object({ versionhash: z.string() }));
    const page = async (count: number, from: number): Promise<string[]> => {
      const { result } = await call(devnode, 'listnevmblobdata', [count, from]);
      return Page.parse(result).map(({ versionhash }) => versionhash);
    };
    const all = await page(100, 0);
    expect(all).toHaveLength(23);
    expect(await page(2, 1)).toEqual(all.slice(1, 3));
    expect(await page(5, 2)).toEqual(all.slice(2, 7));
    expect(await page(10, 10)).toEqual(all.slice(3, 20));
    expect(await page(10, 23)).toEqual(all.slice(3));
  });
});

describe('syscoin-5', () => {
  test('a 33-byte version hash names its hash type', async () => {
    const devnode = await start('syscoin-5');
    await call(devnode, 'syscoincreaterawnevmblob', [`01${blake}`, hex]);
    devnode.mine();
    const script = `6a222101${blake}`;
    expect(devnode.chain.tip.transactions[1]?.raw.toString('hex')).toContain(script);
  });

  test('a blob of 2 MiB and a byte answers a txid and is never accepted', async () => {
    const devnode = await start('syscoin-5');
    const large = Buffer.alloc(2 * 1024 * 1024 + 1, 1).toString('hex');
    const { result } = await call(devnode, 'syscoincreatenevmblob', [large]);
    expect(result).toMatchObject({ datasize: 2_097_153, txid: expect.any(String) });
    devnode.mine();
    expect(devnode.chain.cache.size).toBe(0);
    expect((await call(devnode, 'getrawmempool')).result).toEqual([]);
  });
});

describe('wallets', () => {
  test('the path must name one of several wallets, and no wallet pays without one', async () => {
    const two = await start('syscoin-5', { wallets: ['a', 'b'] });
    expect((await call(two, 'syscoincreatenevmblob', [hex])).error?.code).toBe(-19);
    expect((await call(two, 'syscoincreatenevmblob', [hex], '/wallet/b')).status).toBe(200);
    expect((await call(two, 'syscoincreatenevmblob', [hex], '/wallet/c')).error?.code).toBe(-18);
    expect((await call(two, 'getblockcount', [], '/wallet/c')).status).toBe(200);
    const none = await start('syscoin-5', { wallets: [] });
    expect((await call(none, 'syscoincreatenevmblob', [hex])).error?.code).toBe(-18);
  });

  test('a wallet without a mature coin cannot pay', async () => {
    const poor = await start('syscoin-5', { initialBlocks: 3 });
    expect((await call(poor, 'syscoincreatenevmblob', [hex])).error).toEqual({
      code: -6,
      message: 'Insufficient funds',
    });
    expect(() => poor.submitBlob(bytes)).toThrow(/no mature coin/);
  });
});

test('waitfornewblock answers at the next block', async () => {
  const devnode = await start('syscoin-5');
  const waiting = call(devnode, 'waitfornewblock', [60_000]);
  await call(devnode, 'getblockcount');
  devnode.mine();
  expect((await waiting).result).toEqual({ hash: devnode.chain.tip.hash, height: 121 });
});

test('a batch answers after both calls, with errors inside', async () => {
  const devnode = await start('syscoin-5');
  const answer = await post(
    devnode,
    '[{"id":1,"method":"nothing"},"x",{"id":18446744073709551615,"method":"getblockcount"}]',
  );
  expect(answer.status).toBe(200);
  expect(answer.text).toBe(
    '[{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":1},' +
      '{"result":null,"error":{"code":-32600,"message":"Invalid Request object"},"id":null},' +
      '{"result":120,"error":null,"id":18446744073709551615}]\n',
  );
});

test('an idle connection closes after the node’s timeout', async () => {
  const devnode = await start('syscoin-5', { keepAliveMs: 40 });
  const { hostname, port } = new URL(devnode.url);
  const socket = connect(Number(port), hostname);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const answered = performance.now();
  socket.resume();
  await once(socket, 'close');
  expect(performance.now() - answered).toBeGreaterThan(35);
});
