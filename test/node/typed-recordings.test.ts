import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  cacheStatistics,
  createBlob,
  createClient,
  createRawBlob,
  getBestChainLock,
  getBlob,
  getBlobInfo,
  getBlock,
  getBlockCount,
  getBlockchainInfo,
  getBlockHeader,
  getMempoolInfo,
  getNetworkInfo,
  getRawBlockHeader,
  getRawMempool,
  getRawTransaction,
  getTransaction,
  getTxOutProof,
  listBlobs,
  MAX_BLOB_BYTES,
  type NodeClient,
  NodeError,
  NodeRpcError,
  parseBlockHash,
  parseTxId,
  parseVersionHash,
  uptime,
  verifyTxOutProof,
  waitForNewBlock,
} from '../../src/client.ts';
import { decodeHex } from '../../src/core/blob/hex.ts';
import { fakeNode, json } from './fake-node.ts';
import { bodyWithId, RECORDINGS, type Recording, SUBMISSIONS } from './recordings.ts';

/**
 * Compares every recorded exchange with the typed operation of its request: the operation sends the recorded request
 * and returns the recorded result. Exceptions are listed here with their reasons; no other difference passes.
 */

const DEFAULT_TRUE = 'overwrite_existing is always sent, and true where the caller says nothing';
const DEFAULT_KECCAK = 'keccak is what every release takes when no hash type is sent';

/** Parameters that differ from the recorded ones, with the reason. */
const OTHER_WORDS: Readonly<
  Record<string, { readonly why: string; readonly params: (recorded: unknown[]) => unknown }>
> = {
  'create small blob': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'create with wallet path absent': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'create with unknown wallet': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'create, one parameter': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'first of a blob, one parameter': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'the same again, one parameter': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'create, overwrite null, hash type blake2s': { why: DEFAULT_TRUE, params: ([data]) => [data, true, 'blake2s'] },
  'create, overwrite null alone': { why: DEFAULT_TRUE, params: ([data]) => [data, true] },
  'create keccak explicit': { why: DEFAULT_KECCAK, params: ([data]) => [data, true] },
  'create, overwrite true, hash type null': { why: DEFAULT_KECCAK, params: ([data]) => [data, true] },
  'create, overwrite true, hash type keccak': { why: DEFAULT_KECCAK, params: ([data]) => [data, true] },
  'keccak blob for its hash': { why: DEFAULT_KECCAK, params: ([data]) => [data, true] },
  'raw create of known content, three parameters': { why: DEFAULT_KECCAK, params: ([hash, data]) => [hash, data] },
  'raw create, hash type null': { why: DEFAULT_KECCAK, params: ([hash, data]) => [hash, data] },
  'create 2 MiB': {
    why: 'the middle of the recorded bytes is left out: zeros stand in for them',
    params: () => ['00'.repeat(MAX_BLOB_BYTES), true],
  },
  'get with upper case': {
    why: 'hashes are written in lower case',
    params: ([hash]) => [String(hash).toLowerCase()],
  },
  'get with 0x prefix': { why: 'the prefix is taken off', params: ([hash]) => [String(hash).slice(2)] },
  'list with stats': { why: 'one entry is enough', params: () => [1, 0, { stats: true }] },
  'json-rpc 2.0 success': { why: 'the client speaks 1.0', params: (recorded) => recorded },
};

/** Typed operations that send nothing, with the code of their error. */
const REFUSED_BEFORE_SENDING: Readonly<Record<string, string>> = {
  'create with fee args of the 4.4 line': 'node/unsupported-operation',
  'create with conf_target only': 'node/unsupported-operation',
  'create empty': 'node/invalid-argument',
  'raw with custom 32-byte hash': 'node/invalid-argument',
  'raw with empty data': 'node/invalid-argument',
  'raw with 4.4 fee args': 'node/invalid-argument',
  'list negative count': 'node/invalid-argument',
  'list negative from': 'node/invalid-argument',
  'create 2 MiB + 1': 'node/invalid-argument',
};

/** Requests that no typed argument can express. A similar typed operation reads the recorded answer. */
const NOT_SAYABLE: ReadonlySet<string> = new Set([
  'create with unknown hash type',
  'create odd hex',
  'create non hex',
  'create number',
  'create no params',
  'create overwrite as string',
  'raw with short hash',
  'list count as string',
  'list with getdata',
  'list with unknown option',
  'list options not an object',
  'get short hash',
  'get 33-byte hash',
  'get non-hex',
  'get empty',
  'get no params',
  'get null',
  'get getdata as string',
  'named params',
  'named params unknown name',
  'json-rpc 2.0 error',
  'no id',
  'batch',
  'empty batch',
  'unknown method',
  'parse error',
  'not an object',
  'params a string',
  'method missing',
  'wrong password',
  'no authorization header',
  'GET request',
  'unknown path',
  'application/json content type',
  'chainlocks',
  'block verbosity 2',
  'help of list',
  'help of create',
  'help of raw create',
  'help of get',
]);

/** Errors of typed operations for answers that cannot be decoded. */
const UNREADABLE: Readonly<Record<string, string>> = {
  // The middle of its data was not recorded.
  'get 2 MiB, data': 'node/malformed-answer',
  // The raw transaction was not recorded: this test's node denies it, and nothing else proves it.
  'by txid of the first of two in one block': 'node/wrong-blob',
};

const request = z.object({ method: z.string(), params: z.array(z.unknown()) });
const answer = z.object({ result: z.unknown(), error: z.object({ code: z.int(), message: z.string() }).nullable() });
const entry = z.looseObject({ versionhash: z.string(), datasize: z.int() });
const text = z.string();

type Run = (client: NodeClient) => Promise<unknown>;

/** The typed operation with the recorded arguments. */
function typed(method: string, params: readonly unknown[]): Run {
  const [first, second, third, ...fees] = params;
  const hashType = (word: unknown) => (word === 'blake2s' ? { hashType: 'blake2s256' as const } : {});
  const number = (value: unknown) => z.number().parse(value);
  switch (method) {
    case 'syscoincreatenevmblob': {
      const options = {
        ...(typeof second === 'boolean' ? { overwriteExisting: second } : {}),
        ...hashType(third),
        ...(typeof third === 'number' ? { confTarget: third } : {}),
        ...(fees.length === 0 ? {} : { feeRate: String(fees[1]) }),
      };
      return (client) => createBlob(client, bytesIn(text.parse(first)), options);
    }
    case 'syscoincreaterawnevmblob': {
      const options = { ...hashType(third), ...(typeof third === 'number' ? { confTarget: third } : {}) };
      return (client) =>
        createRawBlob(client, parseVersionHash(text.parse(first)), decodeHex(text.parse(second)), options);
    }
    case 'listnevmblobdata':
      if (z.object({ stats: z.literal(true) }).safeParse(third).success) return cacheStatistics;
      return (client) =>
        listBlobs(client, {
          ...(first === undefined ? {} : { count: number(first) }),
          ...(second === undefined ? {} : { from: number(second) }),
        });
    case 'getnevmblobdata': {
      const id = () => parseVersionHash(text.parse(first).replace(/^0x/, ''));
      return (client) => (second === true ? getBlob(client, id()) : getBlobInfo(client, id()));
    }
    case 'getblockheader': {
      const hash = parseBlockHash(text.parse(first));
      return (client) => (second === false ? getRawBlockHeader(client, hash) : getBlockHeader(client, hash));
    }
    case 'getblock':
      return (client) => getBlock(client, parseBlockHash(text.parse(first)));
    case 'getrawtransaction': {
      const where = third === undefined ? {} : { blockHash: parseBlockHash(text.parse(third)) };
      const id = parseTxId(text.parse(first));
      return (client) => (second === true ? getTransaction(client, id, where) : getRawTransaction(client, id, where));
    }
    case 'gettxoutproof': {
      const where = { blockHash: parseBlockHash(text.parse(second)) };
      return (client) => getTxOutProof(client, z.array(text).parse(first).map(parseTxId), where);
    }
    case 'verifytxoutproof':
      return (client) => verifyTxOutProof(client, decodeHex(text.parse(first)));
    case 'waitfornewblock':
      return (client) => waitForNewBlock(client, number(first));
    case 'getnetworkinfo':
      return getNetworkInfo;
    case 'getblockchaininfo':
      return getBlockchainInfo;
    case 'getbestchainlock':
      return getBestChainLock;
    case 'getmempoolinfo':
      return getMempoolInfo;
    case 'getrawmempool':
      return getRawMempool;
    case 'uptime':
      return uptime;
    default:
      return getBlockCount;
  }
}

/** Bytes of the two largest blobs, which were recorded by length only: 2 MiB and one byte more. */
function bytesIn(hex: string): Uint8Array {
  if (!hex.includes('elided')) return decodeHex(hex);
  return new Uint8Array(hex.includes('<4194123 ') ? MAX_BLOB_BYTES : MAX_BLOB_BYTES + 1);
}

/** The recorded result in the format of the typed operation. */
function said(method: string, params: readonly unknown[], result: unknown): unknown {
  const fields = z.record(z.string(), z.unknown());
  const or = (value: unknown) => value ?? null;
  const header = (one: Record<string, unknown>) => ({
    hash: one['hash'],
    height: one['height'],
    confirmations: one['confirmations'],
    merkleRoot: one['merkleroot'],
    timeSeconds: one['time'],
    medianTimeSeconds: one['mediantime'],
    previousHash: or(one['previousblockhash']),
    nextHash: or(one['nextblockhash']),
    transactionCount: one['nTx'],
    chainLocked: or(one['chainlock']),
  });
  switch (method) {
    case 'syscoincreatenevmblob': {
      const one = fields.parse(result);
      return { versionHash: one['versionhash'], txid: or(one['txid']), feeReason: or(one['fee_reason']) };
    }
    case 'syscoincreaterawnevmblob': {
      const one = fields.parse(result);
      return { versionHash: params[0], txid: one['txid'], feeReason: one['fee_reason'] };
    }
    case 'listnevmblobdata': {
      const [first] = z.array(fields).parse(result);
      if (first !== undefined && 'total_blobs' in first) {
        return {
          blobs: first['total_blobs'],
          bytes: first['total_size'],
          oldestMedianTimeSeconds: first['oldest_mpt'],
          newestMedianTimeSeconds: first['newest_mpt'],
        };
      }
      return z
        .array(entry)
        .parse(result)
        .map((one) => ({
          versionHash: one.versionhash,
          sizeBytes: one.datasize,
          medianTimeSeconds: one['mtp'],
          txid: one['txid'],
        }));
    }
    case 'getnevmblobdata': {
      const one = entry.parse(result);
      const asked = text.parse(params[0]).replace(/^0x/, '').toLowerCase();
      return {
        versionHash: one.versionhash,
        sizeBytes: one.datasize,
        medianTimeSeconds: one['mtp'],
        // A look-up by transaction names that transaction, whose block is reported.
        txid: asked === one.versionhash ? one['txid'] : asked,
        blockHash: or(one['blockhash']),
        height: or(one['height']),
        chainLocked: or(one['chainlock']),
        ...(one['data'] === undefined ? {} : { bytes: decodeHex(text.parse(one['data'])) }),
      };
    }
    case 'getblockheader':
      return typeof result === 'string' ? decodeHex(result) : header(fields.parse(result));
    case 'getblock': {
      const one = fields.parse(result);
      return { ...header(one), transactions: one['tx'] };
    }
    case 'getrawtransaction': {
      if (typeof result === 'string') return decodeHex(result);
      const one = fields.parse(result);
      const outputs = z.array(z.looseObject({ value: z.number(), scriptPubKey: z.looseObject({ hex: text }) }));
      return {
        txid: one['txid'],
        version: one['version'],
        blockHash: or(one['blockhash']),
        confirmations: one['confirmations'],
        outputs: outputs.parse(one['vout']).map(({ value, scriptPubKey }) => ({
          value: value.toFixed(8),
          script: decodeHex(scriptPubKey.hex),
        })),
      };
    }
    case 'gettxoutproof':
      return decodeHex(text.parse(result));
    case 'getnetworkinfo': {
      const one = fields.parse(result);
      return { version: 50_101, release: '5.1.1', subversion: one['subversion'], connections: one['connections'] };
    }
    case 'getblockchaininfo': {
      const one = fields.parse(result);
      return {
        chain: one['chain'],
        height: one['blocks'],
        headers: one['headers'],
        bestBlockHash: one['bestblockhash'],
        medianTimeSeconds: one['mediantime'],
        initialBlockDownload: one['initialblockdownload'],
        pruned: one['pruned'],
      };
    }
    case 'getmempoolinfo': {
      const one = fields.parse(result);
      return { transactions: one['size'], bytes: one['bytes'], totalFee: '0.00000000', minimumFee: '0.00001000' };
    }
    // Bare hashes and numbers, and lists of them.
    default:
      return result;
  }
}

/** Raw transactions, computed from the recorded decoded ones. */
const RAW_FORMS: ReadonlyMap<string, string> = new Map(
  SUBMISSIONS.filter(({ name }) => name.startsWith('raw transaction of')).map(({ response }) => {
    const { txid, hex } = z
      .looseObject({ txid: text, hex: text })
      .parse(answer.parse(JSON.parse(response.body)).result);
    return [txid, hex] as const;
  }),
);
/** The first recording lacks the raw form of the older transaction, and needs none: the entry names the transaction. */
const NO_SUCH = { result: null, error: { code: -5, message: 'No such transaction found in the provided block.' } };

/** A node with the recorded answer to the first request, and raw transactions after that. */
async function replaying(recording: Recording, method: string) {
  const fake = await fakeNode((response, seen) => {
    const call = JSON.parse(seen.body);
    if (call.method === 'getrawtransaction' && method !== 'getrawtransaction') {
      const hex = RAW_FORMS.get(call.params[0]);
      const told = hex === undefined ? NO_SUCH : { result: hex, error: null };
      return json(response, told.error === null ? 200 : 500, JSON.stringify({ ...told, id: call.id }));
    }
    const type = recording.response.headers['content-type'];
    response.writeHead(recording.response.status, type === undefined ? {} : { 'content-type': type });
    return response.end(
      recording.response.body.startsWith('{') ? bodyWithId(recording, call.id) : recording.response.body,
    );
  });
  const [, wallet] = /^\/wallet\/(.+)$/.exec(recording.request.path) ?? [];
  const client = createClient({ url: fake.url, dialect: 'syscoin-5', ...(wallet === undefined ? {} : { wallet }) });
  onTestFinished(() => client.close());
  return { fake, client };
}

const ALL = [...RECORDINGS, ...SUBMISSIONS];

test('the recordings have all 97 and 34 exchanges, and every exception names one of them', () => {
  expect([RECORDINGS.length, SUBMISSIONS.length]).toEqual([97, 34]);
  const names = new Set(ALL.map(({ name }) => name));
  const exceptions = [OTHER_WORDS, REFUSED_BEFORE_SENDING, UNREADABLE].flatMap(Object.keys);
  expect([...exceptions, ...NOT_SAYABLE].filter((name) => !names.has(name))).toEqual([]);
});

test.each(ALL.map((one, index) => [`${index} ${one.name}`, one] as const))(
  'the typed operation matches the recording: %s',
  async (_title, recording) => {
    const { name } = recording;
    const call = request.safeParse(parsedOr(recording.request.body, null));
    const { method, params } = call.success ? call.data : { method: 'getblockcount', params: [] };
    const { fake, client } = await replaying(recording, method);
    const run = NOT_SAYABLE.has(name) ? near(method) : typed(method, params);
    const outcome = await run(client).catch((error: unknown) => error);

    const refusal = REFUSED_BEFORE_SENDING[name];
    if (refusal !== undefined) {
      expect(outcome).toMatchObject({ code: refusal });
      expect(fake.seen).toEqual([]);
      return;
    }
    if (!NOT_SAYABLE.has(name)) {
      expect(fake.seen[0]?.path).toBe(recording.request.path);
      const expected = OTHER_WORDS[name]?.params([...params]) ?? params;
      expect(request.parse(JSON.parse(fake.seen[0]?.body ?? ''))).toEqual({ method, params: expected });
    }
    expectTheAnswer(recording, method, params, outcome);
  },
);

test('a look-up by an older transaction also requests its raw form in its block', async () => {
  const recording = SUBMISSIONS.find(({ name }) => name === 'by the first txid when both are mined, with data');
  if (recording === undefined) throw new Error('It was recorded.');
  const { fake, client } = await replaying(recording, 'getnevmblobdata');
  const older = parseTxId('e2258f8e3be2f03e84cf8a73a797ab1013baf5cb4d7e7f8753de8fc9be4bd45e');
  const blob = await getBlob(client, older);
  expect(new TextDecoder().decode(blob.bytes)).toBe('renewed?');
  expect(blob).toMatchObject({ txid: older, height: 122 });
  expect(fake.seen.map(({ body }) => request.parse(JSON.parse(body)))).toEqual([
    { method: 'getnevmblobdata', params: [older, true] },
    {
      method: 'getrawtransaction',
      params: [older, false, '241741ace17d00e151fecdfe3efa0d97e135835b2f78b02620df1297ec3f2888'],
    },
  ]);
});

test.each([
  ['knows no such method', 404, '{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":"holdfast"}'],
  ['does not let this user ask', 403, ''],
  ['gives something else', 200, '{"result":{},"error":null,"id":"holdfast"}'],
])(
  'a node that %s instead of the raw form is believed, because nothing contradicts it',
  async (_what, status, body) => {
    const recording = SUBMISSIONS.find(({ name }) => name === 'by the first txid when both are mined');
    const fake = await fakeNode((response, seen) => {
      const call = request.parse(JSON.parse(seen.body));
      if (call.method === 'getrawtransaction') return json(response, status, body);
      return json(response, 200, recording === undefined ? '' : bodyWithId(recording, 'holdfast'));
    });
    const client = createClient({ url: fake.url, dialect: 'syscoin-5' });
    onTestFinished(() => client.close());
    const older = parseTxId('e2258f8e3be2f03e84cf8a73a797ab1013baf5cb4d7e7f8753de8fc9be4bd45e');
    expect(await getBlobInfo(client, older)).toMatchObject({ sizeBytes: 8, height: 122 });
  },
);

test('a transaction that carries other content than the answer names is refused', async () => {
  const recording = SUBMISSIONS.find(({ name }) => name === 'by the first txid when both are mined');
  const other = [...RAW_FORMS.values()][0] ?? '';
  const fake = await fakeNode((response, seen) => {
    const call = JSON.parse(seen.body);
    if (call.method === 'getrawtransaction') return json(response, 200, JSON.stringify({ result: other, id: call.id }));
    return json(response, 200, recording === undefined ? '' : bodyWithId(recording, call.id));
  });
  const client = createClient({ url: fake.url, dialect: 'syscoin-5' });
  onTestFinished(() => client.close());
  const asked = parseTxId('ab'.repeat(32));
  await expect(getBlobInfo(client, asked)).rejects.toMatchObject({ code: 'node/wrong-blob' });
});

function expectTheAnswer(recording: Recording, method: string, params: readonly unknown[], outcome: unknown): void {
  const { status, body } = recording.response;
  const told = answer.safeParse(parsedOr(body, null));
  const unreadable = UNREADABLE[recording.name];
  if (unreadable !== undefined) expect(outcome).toMatchObject({ code: unreadable });
  else if (told.success && told.data.error !== null && recording.name !== 'best chainlock') {
    expect(outcome).toBeInstanceOf(NodeRpcError);
    const { code, message } = told.data.error;
    expect(outcome).toMatchObject({ rpcCode: code, rpcMessage: expect.stringContaining(message.slice(0, 400)) });
  } else if (NOT_SAYABLE.has(recording.name)) {
    // A valid answer to another request is either read or refused with a typed error.
    if (outcome instanceof NodeError) {
      const code = status === 401 ? 'node/unauthorized' : status >= 400 ? 'node/not-a-node' : 'node/malformed-answer';
      expect(outcome).toMatchObject({ code });
    } else expect(outcome).toEqual(said(typedMethod(method), params, told.data?.result));
  } else if (recording.name === 'best chainlock') expect(outcome).toBeNull();
  else expect(outcome).toEqual(said(method, params, told.data?.result));
}

/** Any operation with the same answer format; its arguments do not matter. */
function near(method: string): Run {
  if (method === 'listnevmblobdata') return listBlobs;
  if (method === 'syscoincreatenevmblob') return (client) => createBlob(client, Uint8Array.of(1));
  return getBlockCount;
}

function typedMethod(method: string): string {
  return method === 'listnevmblobdata' || method === 'syscoincreatenevmblob' ? method : 'getblockcount';
}

function parsedOr<T>(body: string, otherwise: T): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return otherwise;
  }
}
