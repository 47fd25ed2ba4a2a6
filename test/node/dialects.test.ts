import { describe, expect, onTestFinished, test } from 'vitest';
import {
  assetAllocationBalance,
  assetAllocationSend,
  assetAllocationSendMany,
  assetInfo,
  type ClientOptions,
  createBlob,
  createClient,
  createRawBlob,
  type Dialect,
  getBlockCount,
  listBlobs,
  listBlobsWithData,
  type NodeClient,
  NodeError,
} from '../../src/client.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { callOf, fakeNode, json, result, rpcError, type Seen } from './fake-node.ts';

const GUID = 18_446_744_073_709_551_615n;
const ADDRESS = 'sys1q4dyzqwwd4hmkd2q6vj2zmc8unyy9x9x9x9x9x9';
const TXID = 'cd'.repeat(32);
const HASH = parseVersionHash('ab'.repeat(32));
const INFO =
  '{"asset_guid":%,"symbol":"T","public_value":{"desc":"d"},"contract":"","notary_address":"","total_supply":0.10000000,"max_supply":92233720368.54775807,"updatecapability_flags":127,"precision":8}';

/** A node of some version with the methods of a dialect. */
async function nodeOf(
  state: { version: number; methods: readonly string[] },
  answer: string,
  options: Partial<ClientOptions> = {},
) {
  const fake = await fakeNode((response, seen) => {
    const { method } = callOf(seen);
    if (method === 'getnetworkinfo') result(response, seen, { version: state.version, subversion: '', connections: 0 });
    else if (!state.methods.includes(String(method)))
      json(response, 404, `{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":"holdfast"}`);
    else if (method === 'svccreatenevmblob' && seen.body.includes('"params":[]'))
      rpcError(response, seen, -1, 'svccreatenevmblob "data"\n\nArguments:');
    else json(response, 200, `{"result":${answer},"error":null,"id":"holdfast"}`);
  });
  const client = createClient({ url: fake.url, ...options });
  onTestFinished(() => client.close());
  const sent = () =>
    fake.seen
      .map((seen) => callOf(seen))
      .filter(
        ({ method }) =>
          (method !== 'getnetworkinfo' && method !== 'svccreatenevmblob') || options.dialect !== undefined,
      );
  return { fake, client, sent, params: () => paramsText(fake.seen.at(-1)) };
}

/** Parameters as text on the wire, with every digit. */
function paramsText(seen: Seen | undefined): string {
  return /"params":(.*)\}$/s.exec(seen?.body ?? '')?.[1] ?? '';
}

async function wireOf(dialect: Dialect, answer: string, run: (client: NodeClient) => Promise<unknown>) {
  const { fake, client } = await nodeOf({ version: 1, methods: [] }, answer, { dialect });
  await run(client).catch(() => undefined);
  return {
    method: String(callOf(fake.seen[0] ?? { path: '', body: '{}', authorization: '', contentType: '' }).method),
    params: paramsText(fake.seen[0]),
    path: fake.seen[0]?.path,
  };
}

describe('positions and names on the wire', () => {
  const one = Uint8Array.of(0xaa);
  const cases: [string, Dialect, (client: NodeClient) => Promise<unknown>, string, string][] = [
    ['create', 'svc', (c) => createBlob(c, one), 'svccreatenevmblob', '["aa",true]'],
    [
      'create, only a fee rate',
      'svc',
      (c) => createBlob(c, one, { feeRate: '1.5' }),
      'svccreatenevmblob',
      '["aa",true,null,null,"1.5"]',
    ],
    [
      'create, all',
      'syscoin-4.4',
      (c) => createBlob(c, one, { overwriteExisting: false, confTarget: 6, estimateMode: 'economical', feeRate: '25' }),
      'syscoincreatenevmblob',
      '["aa",false,6,"economical","25"]',
    ],
    [
      'create blake2s',
      'syscoin-5',
      (c) => createBlob(c, one, { hashType: 'blake2s256' }),
      'syscoincreatenevmblob',
      '["aa",true,"blake2s"]',
    ],
    [
      'raw create, custom',
      'svc',
      (c) => createRawBlob(c, HASH, one, { estimateMode: 'conservative' }),
      'svccreaterawnevmblob',
      `["${HASH}","aa",null,"conservative"]`,
    ],
    ['list', 'syscoin-4.4', (c) => listBlobs(c, { from: 5 }), 'listnevmblobdata', '[10,5]'],
    ['list with data', 'svc', (c) => listBlobsWithData(c, { count: 2 }), 'listnevmblobdata', '[2,0,{"getdata":true}]'],
    ['asset info', 'svc', (c) => assetInfo(c, GUID), 'assetinfo', '[18446744073709551615]'],
    ['asset info', 'syscoin-4.2', (c) => assetInfo(c, GUID), 'assetinfo', '["18446744073709551615"]'],
    ['balance', 'svc', (c) => assetAllocationBalance(c, 7n), 'assetallocationbalance', '[7]'],
    [
      'balance of addresses',
      'svc',
      (c) => assetAllocationBalance(c, 7n, { addresses: [ADDRESS] }),
      'assetallocationbalance',
      `[7,"[\\"${ADDRESS}\\"]"]`,
    ],
    [
      'balance of addresses',
      'syscoin-4.2',
      (c) => assetAllocationBalance(c, 7n, { addresses: [ADDRESS] }),
      'assetallocationbalance',
      `["7",["${ADDRESS}"]]`,
    ],
    [
      'send',
      'svc',
      (c) => assetAllocationSend(c, { guid: 7n, address: ADDRESS, amount: '0.10000000' }),
      'assetallocationsend',
      `[7,"${ADDRESS}","0.10000000"]`,
    ],
    [
      'send by Z-DAG',
      'syscoin-4.2',
      (c) => assetAllocationSend(c, { guid: 7n, address: ADDRESS, amount: '1' }, { zdag: true }),
      'assetallocationsend',
      `["7","${ADDRESS}","1",null,false]`,
    ],
    [
      'send with coins',
      'syscoin-4.2',
      (c) => assetAllocationSend(c, { guid: 7n, address: ADDRESS, amount: '1', nativeAmount: '2' }),
      'assetallocationsend',
      `["7","${ADDRESS}","1","2"]`,
    ],
    [
      'send many',
      'svc',
      (c) =>
        assetAllocationSendMany(c, [{ guid: GUID, address: ADDRESS, amount: '1', nativeAmount: '0.5' }], {
          estimateMode: 'economical',
        }),
      'assetallocationsendmany',
      `[[{"asset_guid":18446744073709551615,"address":"${ADDRESS}","amount":"1","svc_amount":"0.5"}],null,null,null,"ECONOMICAL"]`,
    ],
    [
      'send many',
      'syscoin-4.2',
      (c) =>
        assetAllocationSendMany(c, [{ guid: 7n, address: ADDRESS, amount: '1', nativeAmount: '0.5' }], {
          comment: 'x',
        }),
      'assetallocationsendmany',
      `[[{"asset_guid":"7","address":"${ADDRESS}","amount":"1","sys_amount":"0.5"}],null,"x"]`,
    ],
  ];
  test.each(cases)('%s in %s', async (_what, dialect, run, method, params) => {
    expect(await wireOf(dialect, 'null', run)).toMatchObject({ method, params });
  });

  test('the path names a wallet for wallet operations only', async () => {
    const { fake, client } = await nodeOf({ version: 1, methods: [] }, '1', { dialect: 'svc', wallet: 'my wallet/é' });
    await createBlob(client, one).catch(() => undefined);
    await getBlockCount(client).catch(() => undefined);
    expect(fake.seen.map(({ path }) => path)).toEqual(['/wallet/my%20wallet%2F%C3%A9', '/']);
  });
});

describe('one format for all dialects', () => {
  test.each([
    ['svc', '18446744073709551615'],
    ['syscoin-4.2', '"18446744073709551615"'],
  ] as const)('asset info in %s', async (dialect, guid) => {
    const { client } = await nodeOf({ version: 1, methods: ['assetinfo'] }, INFO.replace('%', guid), { dialect });
    expect(await assetInfo(client, GUID)).toEqual({
      guid: GUID,
      symbol: 'T',
      description: 'd',
      contract: '',
      notaryAddress: '',
      totalSupply: '0.10000000',
      maxSupply: '92233720368.54775807',
      updateCapabilityFlags: 127,
      precision: 8,
    });
  });

  test.each([
    ['["a",{"error":1}]', 'The node sent nothing, because its wallet cannot sign every input'],
    ['[{"txid":"aa","vout":1,"error":"Unable to sign input"}]', /cannot sign every input: Unable to sign input$/],
    [undefined, 'The node sent nothing, because its wallet cannot sign every input'],
  ])('a send that the wallet of release 4.2 cannot sign is a refusal (%s)', async (errors, message) => {
    const answer = `{"hex":"00","complete":false${errors === undefined ? '' : `,"errors":${errors}`}}`;
    const { client } = await nodeOf(
      { version: 1, methods: ['assetallocationsend', 'assetallocationsendmany'] },
      answer,
      {
        dialect: 'syscoin-4.2',
      },
    );
    const allocation = { guid: 7n, address: ADDRESS, amount: '1' };
    const expected = { code: 'node/rpc-error', retryable: false, message: expect.stringMatching(message) };
    await expect(assetAllocationSend(client, allocation)).rejects.toMatchObject(expected);
    await expect(assetAllocationSendMany(client, [allocation])).rejects.toMatchObject(expected);
  });

  test('release 4.2 has null for a token without public data', async () => {
    const answer = INFO.replace('%', '"7"').replace('{"desc":"d"}', 'null');
    const { client } = await nodeOf({ version: 1, methods: ['assetinfo'] }, answer, { dialect: 'syscoin-4.2' });
    expect(await assetInfo(client, 7n)).toMatchObject({ guid: 7n, description: null });
  });

  test.each([
    ['svc', 'svc_amount', '7'],
    ['syscoin-4.2', 'sys_amount', '"7"'],
  ] as const)('the result of a send in %s', async (dialect, native, guid) => {
    const answer = `{"txid":"${TXID}","assetallocations_sent_count":1,"assetallocations_sent":[{"asset_guid":${guid},"amount":1.10,"${native}":0.00000001}]}`;
    const { client } = await nodeOf({ version: 1, methods: ['assetallocationsend'] }, answer, { dialect });
    expect(await assetAllocationSend(client, { guid: 7n, address: ADDRESS, amount: '1.1' })).toEqual({
      txid: TXID,
      allocationCount: 1,
      allocations: [{ guid: 7n, amount: '1.10', nativeAmount: '0.00000001' }],
    });
  });
});

describe('detection of the dialect', () => {
  test.each([
    [50_101, ['syscoincreatenevmblob'], 'syscoin-5'],
    [40_403, ['syscoincreatenevmblob'], 'syscoin-4.4'],
    [40_200, ['assetinfo'], 'syscoin-4.2'],
    [40_403, ['svccreatenevmblob'], 'svc'],
  ] as const)('version %i with %j is %s', async (version, methods, dialect) => {
    const { fake, client } = await nodeOf({ version, methods }, 'null');
    expect(await client.release()).toEqual({ dialect, version });
    await client.release();
    expect(fake.seen).toHaveLength(2);
  });

  test('a call with the same form in all dialects needs no detection', async () => {
    const { fake, client } = await nodeOf({ version: 50_101, methods: ['getblockcount'] }, '5');
    expect(await getBlockCount(client)).toBe(5);
    expect(fake.seen).toHaveLength(1);
  });

  test('an operation that the release lacks is refused before it is sent', async () => {
    const { sent, client } = await nodeOf({ version: 50_101, methods: ['syscoincreatenevmblob'] }, 'null');
    const error = await assetInfo(client, 1n).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'node/unsupported-operation',
      message:
        'assetInfo is not possible: asset operations were removed in release 4.4; this node is 5.1.1 (syscoin-5).',
    });
    expect(sent()).toEqual([]);
    await expect(createBlob(client, Uint8Array.of(1), { feeRate: '1' })).rejects.toMatchObject({
      code: 'node/unsupported-operation',
    });
    await expect(listBlobsWithData(client)).rejects.toMatchObject({ code: 'node/unsupported-operation' });
    expect(sent()).toEqual([]);
  });

  test('a list of an asset node is explained by its release', async () => {
    const { client } = await nodeOf({ version: 40_200, methods: ['assetinfo'] }, 'null');
    await expect(listBlobs(client)).rejects.toMatchObject({
      code: 'node/unsupported-operation',
      message: expect.stringContaining('4.2.0'),
    });
  });

  test('an upgrade of the node between two calls is noticed, and the call succeeds', async () => {
    const state = { version: 40_403, methods: ['svccreatenevmblob'] };
    const { client } = await nodeOf(state, `{"versionhash":"${HASH}","txid":"${TXID}"}`);
    expect(await client.release()).toMatchObject({ dialect: 'svc' });
    state.version = 50_101;
    state.methods = ['syscoincreatenevmblob'];
    expect(await createBlob(client, Uint8Array.of(1))).toMatchObject({ txid: TXID });
    expect(await client.release()).toEqual({ dialect: 'syscoin-5', version: 50_101 });
  });

  test('a release older than any known one is refused by version', async () => {
    const { client } = await nodeOf({ version: 30_000, methods: [] }, 'null');
    await expect(client.release()).rejects.toMatchObject({ code: 'node/unsupported-operation' });
  });
});

describe('arguments are checked before anything is sent', () => {
  const send = { guid: 7n, address: ADDRESS, amount: '1' };
  const cases: [string, (client: NodeClient) => Promise<unknown>, RegExp][] = [
    ['an empty blob', (c) => createBlob(c, new Uint8Array(0)), /1 to 2097152 bytes; this one has 0/],
    ['a blob of 2 MiB + 1', (c) => createBlob(c, new Uint8Array(2_097_153)), /has 2097153/],
    [
      '251 recipients',
      (c) => assetAllocationSendMany(c, new Array(251).fill(send)),
      /1 to 250 recipients; these are 251/,
    ],
    ['no recipients', (c) => assetAllocationSendMany(c, []), /1 to 250/],
    ['Z-DAG that may be replaced', (c) => assetAllocationSend(c, send, { zdag: true, replaceable: true }), /Z-DAG/],
    ['an address with a blank', (c) => assetAllocationSend(c, { ...send, address: 'sys1 q' }), /sys1 q/],
    [
      'nine decimals',
      (c) => assetAllocationSend(c, { ...send, amount: '1.123456789' }),
      /8 decimals; 1.123456789 has 9/,
    ],
    ['a guid of 65 bits', (c) => assetInfo(c, 2n ** 64n), /18446744073709551616/],
    ['a target of 0 blocks', (c) => createBlob(c, Uint8Array.of(1), { confTarget: 0 }), /1008 blocks; not 0/],
    ['a negative count', (c) => listBlobs(c, { count: -1 }), /count.*-1/],
  ];
  test.each(cases)('%s', async (_what, run, message) => {
    const { fake, client } = await nodeOf({ version: 1, methods: [] }, 'null', { dialect: 'svc' });
    const error = await Promise.resolve()
      .then(() => run(client))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({ code: 'node/invalid-argument', message: expect.stringMatching(message) });
    expect(fake.seen).toEqual([]);
  });
});
