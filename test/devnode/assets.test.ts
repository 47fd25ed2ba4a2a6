import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { call, post } from './rpc-client.ts';

const GOLD = 1635229536;
const SHARE = 2529870008;
const LAST = '18446744073709551615';
const ALICE = 'bcrt1qnejhl8n9ctgwnd68q62nwdfh8pzphkyvvwy5hd';
const BOB = 'bcrt1q2jp6g2pqt8p3n6a7ary6vh8tzdk38v2uavgre9';

let devnode: Devnode;

beforeEach(async () => {
  devnode = await createDevnode({ dialect: 'svc', wallets: ['a', 'b'] });
});

afterEach(() => devnode.close());

/** The answer's text: JSON.parse would lose digits. */
async function raw(method: string, params: string, path = '/wallet/a'): Promise<string> {
  return (await post(devnode, `{"id":1,"method":"${method}","params":${params}}`, path)).text;
}

const balance = (guid: number, ...addresses: string[]) =>
  call(
    devnode,
    'assetallocationbalance',
    addresses.length === 0 ? [guid] : [guid, JSON.stringify(addresses)],
    '/wallet/a',
  );
const send = (...params: unknown[]) => call(devnode, 'assetallocationsend', params, '/wallet/a');

const txidOf = (result: unknown): string => z.looseObject({ txid: z.string() }).parse(result).txid;

describe('numbers in answers keep every digit', () => {
  test('64-bit guids and supplies keep their own decimal places', async () => {
    const text = await raw('assetinfo', `[${LAST}]`);
    expect(text).toContain(`"asset_guid":${LAST},"symbol":"LAST","public_value":{"desc":"LAST of the emulated chain"}`);
    expect(text).toContain('"total_supply":12345678901.23,"max_supply":99999999999.99');
    expect(await raw('assetinfo', `["${LAST}"]`)).toBe(text);
    expect(await raw('assetinfo', `[${SHARE}]`)).toContain('"total_supply":1000000,');
  });

  test('release 4.2 writes guids as text and names amounts sys_amount', async () => {
    const old = await createDevnode({ dialect: 'syscoin-4.2' });
    expect((await call(old, 'assetinfo', [GOLD])).result).toMatchObject({ asset_guid: String(GOLD) });
    const { result } = await call(old, 'assetallocationsend', [String(GOLD), ALICE, '1.5', 0.25]);
    expect(result).toMatchObject({
      assetallocations_sent: [{ asset_guid: String(GOLD), amount: 1.5, sys_amount: 0.25 }],
    });
    await old.close();
  });
});

test('release 4.2 takes addresses as an array, and an empty one for the whole wallet', async () => {
  const old = await createDevnode({ dialect: 'syscoin-4.2' });
  const ask = (addresses: unknown) => call(old, 'assetallocationbalance', [String(GOLD), addresses]);
  await call(old, 'assetallocationsend', [String(GOLD), ALICE, '1.5']);
  expect((await ask([ALICE])).result).toMatchObject({ asset_amount: 1.5 });
  expect((await ask([])).result).toMatchObject({ asset_amount: 999_998.5 });
  expect((await ask(JSON.stringify([ALICE]))).error?.code).toBe(-3);
  await old.close();
});

describe('a send moves tokens', () => {
  test('a send goes to an address in a transaction of its own', async () => {
    const { result } = await send(GOLD, ALICE, '0.00000001', '0.5');
    expect(result).toMatchObject({ assetallocations_sent_count: 1 });
    const txid = txidOf(result);
    expect((await call(devnode, 'getrawmempool')).result).toEqual([txid]);
    expect((await balance(GOLD, ALICE)).result).toEqual({ amount: 0.5, asset_amount: 1e-8 });
    expect((await balance(GOLD)).result).toEqual({ amount: 0, asset_amount: 999_999.99999999 });
    devnode.mine();
    expect((await call(devnode, 'getrawtransaction', [txid, true])).result).toMatchObject({ version: 135 });
  });

  test('a send to many addresses is totalled per asset, and each wallet sees its own tokens', async () => {
    const amounts = [
      { asset_guid: GOLD, address: ALICE, amount: 1.5 },
      { asset_guid: GOLD, address: BOB, amount: '2.5', svc_amount: 0.1 },
      { asset_guid: String(SHARE), address: devnode.assets.addressOf('b'), amount: 7 },
    ];
    const text = await raw('assetallocationsendmany', JSON.stringify([amounts, false, 'a comment', 6, 'CONSERVATIVE']));
    expect(text).toContain(`{"asset_guid":${GOLD},"amount":4.00000000,"svc_amount":0.10000000}`);
    expect(text).toContain('"assetallocations_sent_count":2');
    expect((await balance(GOLD, ALICE, BOB, ALICE)).result).toEqual({ amount: 0.1, asset_amount: 4 });
    expect((await call(devnode, 'assetallocationbalance', [SHARE], '/wallet/b')).result).toMatchObject({
      asset_amount: 7,
    });
  });

  test('the sequence of a send shows whether it is replaceable, which Z-DAG forbids', async () => {
    const sequenceOf = async (replaceable: boolean): Promise<unknown> => {
      const txid = txidOf((await send(GOLD, ALICE, 1, null, replaceable)).result);
      return (await call(devnode, 'getrawtransaction', [txid, true])).result;
    };
    expect(await sequenceOf(true)).toMatchObject({ vin: [{ sequence: 0xfffffffd }] });
    expect(await sequenceOf(false)).toMatchObject({ vin: [{ sequence: 0xfffffffe }] });
  });

  test('a dropped send gives its tokens back', async () => {
    const txid = txidOf((await send(SHARE, ALICE, 5)).result);
    devnode.dropTransaction(txid);
    expect((await balance(SHARE, ALICE)).result).toMatchObject({ asset_amount: 0 });
  });
});

describe('refusals of asset calls', () => {
  test.for([
    ['an unknown guid', [4711, ALICE, 1], -20],
    ['a guid that is none', ['-1', ALICE, 1], -8],
    ['an address that is none', [GOLD, 'nobody', 1], -5],
    ['more places than the asset has', [SHARE, ALICE, '0.5'], -3],
    ['nothing', [GOLD, ALICE, 0], -3],
    ['a negative amount', [GOLD, ALICE, '-1'], -3],
    ['more than there is', [SHARE, ALICE, 1_000_001], -6],
    ['a flag that is none', [GOLD, ALICE, 1, null, 'yes'], -3],
  ] as const)('%s', async ([, params, code]) => {
    expect((await send(...params)).error?.code).toBe(code);
  });

  test('more than 250 recipients, a lower-case estimate mode and an empty list are refused', async () => {
    const many = (count: number, mode = 'UNSET') => {
      const amounts = Array(count).fill({ asset_guid: SHARE, address: ALICE, amount: 1 });
      return call(devnode, 'assetallocationsendmany', [amounts, true, '', 1, mode], '/wallet/a');
    };
    expect((await many(250)).status).toBe(200);
    expect((await many(251)).error?.code).toBe(-8);
    expect((await many(0)).error?.code).toBe(-8);
    expect((await many(1, 'unset')).error?.code).toBe(-8);
  });

  test('an address list that is not JSON in a string is refused', async () => {
    const ask = (addresses: unknown) => call(devnode, 'assetallocationbalance', [GOLD, addresses], '/wallet/a');
    expect((await ask(ALICE)).error?.code).toBe(-8);
    expect((await ask([ALICE])).error?.code).toBe(-3);
  });
});

test('the ledger survives a restart', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'devnode-assets-'));
  const first = await createDevnode({ dialect: 'svc', dataDir });
  await call(first, 'assetallocationsend', [SHARE, ALICE, 3]);
  await first.close();
  const second = await createDevnode({ dialect: 'svc', dataDir });
  expect(second.assets.balance(BigInt(SHARE), [ALICE]).units).toBe(3n);
  await second.close();
  rmSync(dataDir, { recursive: true });
});
