import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, test } from 'vitest';
import { readBlock } from '../../src/chain/read-block.ts';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { type BlockHash, parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import {
  type BlobOutcome,
  blockCall,
  cacheStatistics,
  createBlobNode,
  createClient,
  createRawCalls,
  getBlob,
  getBlockchainInfo,
  getChainTips,
  getMempoolInfo,
  getTransaction,
  listBlobsWithData,
  type NodeClient,
  type RpcBlobNode,
  transactionCall,
} from '../../src/node/index.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { RECORDINGS, recorded } from '../node/recordings.ts';
import { HASHER, NEVER } from '../sample-blobs.ts';
import { blobs, recorded as onChain, recordedCalls } from '../verify/recorded-chain.ts';
import { claim, outcomeOf } from './claims.ts';
import { explore } from './explore.ts';
import { FUZZED_ORIGIN, httpAnswer, InProcessServer, inputOf, scriptOf } from './in-process-server.ts';

const server = new InProcessServer();
beforeAll(() => server.open());
afterAll(() => server.close());

const WANTED = blobs.slice(0, 2).map(({ versionhash, size }) => ({
  versionHash: parseVersionHash(versionhash),
  sizeBytes: size,
}));
const TXID = parseTxId(blobs[0]?.txid ?? '');
/** The two shortest of the recorded blocks, with what they hold. */
const BLOCKS = recordedCalls('getblock', 2)
  .filter(({ params, result }) => params[1] === 0 && typeof result === 'string')
  .map(({ params, result }) => ({ hash: parseBlockHash(String(params[0])), hex: String(result) }))
  .filter(({ hex }) => hex.includes('6a'))
  .toSorted((one, other) => one.hex.length - other.hex.length)
  .slice(-3, -1);
const HASHES = BLOCKS.map(({ hash }) => hash);
const [HASH = parseBlockHash('00'.repeat(32))] = HASHES;
const FACTS = new Map(BLOCKS.map(({ hash, hex }) => [hash, factsOf(Buffer.from(hex, 'hex'), hash)]));

function factsOf(bytes: Uint8Array, hash: BlockHash) {
  const { previousHash, timeSeconds, occurrences, unclear } = readBlock(bytes, hash, 1);
  return { previousHash, timeSeconds, unclear, occurrences: occurrences.map((one) => ({ ...one, makeRecord: null })) };
}

/** Bytes that pass the archive's own check are those of the name, by another implementation of the hashes. */
function checkBytes(versionHash: string, bytes: Uint8Array): void {
  const blob = verifyBlob({ versionHash: parseVersionHash(versionHash), hashType: null, bytes }, HASHER);
  if (blob === null) return;
  const hash = encodeHex(hashWith(nobleHasher, blob.hashType, blob.bytes));
  claim(hash === versionHash && blob.versionHash === versionHash, `bytes of ${hash} passed as ${versionHash}`);
}

/** "Not there" is what the node itself says, in its own words. */
function checkAbsence(outcome: BlobOutcome, input: Uint8Array): void {
  if (outcome.kind !== 'absent') return;
  const said = Buffer.from(input).toString('latin1');
  claim(/Could not find|\\u/.test(said), 'a blob is absent by an answer that does not say so');
}

function checkBlock(bytes: Uint8Array, hash: BlockHash): void {
  const known = FACTS.get(hash);
  claim(isDeepStrictEqual(factsOf(bytes, hash), known), `other facts of block ${hash}`);
}

async function fetched(node: RpcBlobNode, input: Uint8Array, wanted = WANTED): Promise<void> {
  for (const [place, outcome] of (await node.fetchBlobs(wanted, NEVER)).entries()) {
    checkAbsence(outcome, input);
    const versionHash = wanted[place]?.versionHash ?? '';
    if (outcome.kind === 'bytes') checkBytes(versionHash, outcome.blob.bytes);
    if (outcome.kind === 'failed') await outcomeOf(() => Promise.reject(outcome.error));
  }
}

type OfNode = (node: RpcBlobNode, input: Uint8Array) => Promise<unknown>;
type OfClient = (client: NodeClient) => Promise<unknown>;

const OF_NODE: readonly OfNode[] = [
  (node) => node.genesisHash(NEVER),
  async (node) => {
    const { height } = await node.tip(NEVER);
    claim(Number.isSafeInteger(height) && height >= 0, `the tip has the height ${height}`);
  },
  async (node) => {
    const { entries } = await node.listBlobs({ count: 100, from: 0 }, NEVER);
    claim(
      entries.every(({ versionHash }) => /^[0-9a-f]{64}$/.test(versionHash)),
      'a listed name is none',
    );
  },
  (node, input) => fetched(node, input, WANTED.slice(0, 1)),
  (node, input) => fetched(node, input),
  (node) => node.blockHashAt(5, NEVER),
  (node) => node.blockHashesFrom(5, 3, NEVER),
  (node) => node.header(HASH, NEVER),
  async (node) => checkBlock(await node.rawBlock(HASH, NEVER), HASH),
  async (node) => {
    for (const [place, bytes] of (await node.rawBlocks(HASHES, NEVER)).entries()) {
      const hash = HASHES[place];
      if (hash !== undefined) await outcomeOf(() => checkBlock(bytes, hash));
    }
  },
  (node) => node.spentScripts(HASH, [TXID, TXID], NEVER),
  (node) => node.bestChainLock(NEVER),
  (node) => node.waitForNewBlock(1, NEVER),
  async (node, input) => {
    await node.listBlobs({ count: 100, from: 0 }, NEVER);
    await fetched(node, input);
  },
];
const OF_CLIENT: readonly OfClient[] = [
  (client) => client.release(),
  async (client) =>
    checkBytes(WANTED[0]?.versionHash ?? '', (await getBlob(client, WANTED[0]?.versionHash ?? TXID)).bytes),
  getBlockchainInfo,
  getChainTips,
  getMempoolInfo,
  cacheStatistics,
  (client) => getTransaction(client, TXID),
  (client) => client.run(blockCall(HASH)),
  (client) => listBlobsWithData(client, { maxBytes: 10_000 }),
  async (client) => {
    for (const settled of await client.runAll([transactionCall(TXID), transactionCall(TXID)])) {
      if (!settled.ok) await outcomeOf(() => Promise.reject(settled.error));
    }
  },
];

const DIALECTS = ['syscoin-5', 'syscoin-4.4', 'svc'] as const;
const OPERATIONS = OF_NODE.length + OF_CLIENT.length + 1;
const RAW = OPERATIONS - 1;

async function run(input: Uint8Array): Promise<void> {
  server.play(scriptOf(input));
  const operation = (input[0] ?? 0) % OPERATIONS;
  const dialect = DIALECTS[Math.floor((input[0] ?? 0) / OPERATIONS) % DIALECTS.length] ?? 'syscoin-5';
  const ofNode = OF_NODE[operation];
  const ofClient = OF_CLIENT[operation - OF_NODE.length];
  if (ofNode !== undefined) {
    const node = createBlobNode({ url: FUZZED_ORIGIN, dialect });
    await outcomeOf(() => ofNode(node, input));
    await node.close();
  } else if (ofClient !== undefined) {
    const retry = { repetitions: 1, firstDelayMs: 0, maxDelayMs: 0 };
    const client = createClient({ url: FUZZED_ORIGIN, retry, ...(dialect === 'svc' ? {} : { dialect }) });
    await outcomeOf(() => ofClient(client));
    await client.close();
  } else {
    const calls = createRawCalls({ url: FUZZED_ORIGIN }, { steadyMs: () => 0 });
    const reply = await outcomeOf(() => calls.call('getblockcount', '[]', NEVER));
    if (reply !== null && 'result' in reply.value) JSON.parse(reply.value.result);
    await calls.close();
  }
  server.assertEnded();
}

const JSON_TYPE = { 'content-type': 'application/json' };
const answer = (result: unknown, id: unknown) =>
  httpAnswer('200 OK', JSON_TYPE, `${JSON.stringify({ result, error: null, id })}\n`);
const batch = (results: readonly unknown[]) =>
  httpAnswer(
    '200 OK',
    JSON_TYPE,
    JSON.stringify(results.map((result, id) => ({ result, error: null, id: String(id) }))),
  );
const refusal = (code: number, message: string, id: unknown) =>
  httpAnswer('500 Internal Server Error', JSON_TYPE, JSON.stringify({ result: null, error: { code, message }, id }));
const blobAnswers = WANTED.map(({ versionHash }) => onChain('getnevmblobdata', versionHash, true));
const list = recorded('list count 3').response.body;
const listed = (id: string) => answer(JSON.parse(list).result, id);
const chainInfo = onChain('getblockchaininfo');
const transaction = recordedCalls('getrawtransaction', 2).find(({ params }) => params[1] === true)?.result;
const client = (operation: number) => OF_NODE.length + operation;
const network = answer(onChain('getnetworkinfo'), 'holdfast');
const header = recordedCalls('getblockheader', 1)[0]?.result;

const SEEDS = [
  inputOf(0, [answer(onChain('getblockhash', 108), 'getblockhash')]),
  inputOf(1, [answer(chainInfo, 'getblockchaininfo')]),
  inputOf(2, [listed('listnevmblobdata')]),
  inputOf(3, [answer(blobAnswers[0], '0')]),
  inputOf(3, [refusal(-32602, 'Could not find blob information for versionhash a in DB', '0')]),
  inputOf(4, [batch(blobAnswers)]),
  inputOf(4, [refusal(-32600, 'no batches', null), answer(blobAnswers[0], '0'), answer(blobAnswers[1], '0')]),
  inputOf(5, [answer(HASH, 'getblockhash')]),
  inputOf(5, [refusal(-8, 'Block height out of range', 'getblockhash')]),
  inputOf(6, [batch([...HASHES, HASH])]),
  inputOf(7, [answer(header, 'getblockheader')]),
  inputOf(8, [answer(BLOCKS[0]?.hex, 'getblock')]),
  inputOf(9, [batch(BLOCKS.map(({ hex }) => hex))]),
  inputOf(10, [batch([transaction, transaction])]),
  inputOf(11, [refusal(-32603, 'Unable to find any ChainLock', 'getbestchainlock')]),
  inputOf(11, [answer({ blockhash: HASH, height: 9 }, 'getbestchainlock')]),
  inputOf(12, [answer({ hash: HASH, height: 9 }, 'waitfornewblock')]),
  inputOf(13 + OPERATIONS, [
    answer(
      WANTED.map(({ versionHash, sizeBytes }) => ({ versionhash: versionHash, datasize: sizeBytes, mpt: 1 })),
      'listnevmblobdata',
    ),
    answer(blobAnswers, '0'),
    batch(blobAnswers),
  ]),
  inputOf(client(0) + 2 * OPERATIONS, [network, refusal(-32601, 'Method not found', 'holdfast')]),
  inputOf(client(1), [answer(blobAnswers[0], 'holdfast')]),
  inputOf(client(2), [answer(chainInfo, 'holdfast')]),
  inputOf(client(3), [answer(onChain('getchaintips'), 'holdfast')]),
  inputOf(client(4), [answer(JSON.parse(recorded('mempool info').response.body).result, 'holdfast')]),
  inputOf(client(5), [answer(JSON.parse(recorded('list with stats').response.body).result, 'holdfast')]),
  inputOf(client(6), [answer(transaction, 'holdfast')]),
  inputOf(client(7), [answer(JSON.parse(recorded('block verbosity 1').response.body).result, 'holdfast')]),
  inputOf(client(8) + OPERATIONS, [answer(blobAnswers, 'holdfast')]),
  inputOf(client(9), [batch([transaction, transaction])]),
  inputOf(RAW, [answer(12, 'holdfast')], 7),
  // Every status and form of the recorded answers, under the id that they were asked with.
  ...RECORDINGS.filter(({ response }) => response.body.length < 400 && response.status !== 200).map(({ response }) =>
    inputOf(3, [
      httpAnswer(
        `${response.status} As recorded`,
        { ...response.headers, 'content-length': String(Buffer.byteLength(response.body)) },
        response.body,
      ),
    ]),
  ),
];

const WORDS = ['"result":', '"error":', '"code":-32602', '"message":"Could not find blob information"', '"id":"0"'];

test('any answer of a node is a proven fact, or an error with a code', async () => {
  const words = [...WORDS, ...['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'HTTP/1.1 200 OK\r\n\r\n']];
  await explore({ name: 'node-answers', seeds: SEEDS, folders: ['src/node/', 'src/verify/'], words, run });
}, 36_000_000);
