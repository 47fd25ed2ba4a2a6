import { z } from 'zod';
import type { ArchiveView } from '../archive/archive-view.ts';
import type { ChainView } from '../archive/chain-view.ts';
import { MAX_BLOB_BYTES } from '../blob/limits.ts';
import { HEX_WEIGHT_BYTES } from './blobs.ts';
import { RPC_REFUSAL } from './openapi.ts';
import { NOTHING } from './parameters.ts';
import { defineRawPostRoute, FACADE_PATH, type GoodAnswer, type Route } from './route.ts';
import { type BlobCallModules, type DataAllowance, type FacadeDialect, getBlob, listBlobs } from './rpc/blob-calls.ts';
import {
  bestBlockHash,
  bestChainLock,
  blockCount,
  blockchainInfo,
  blockHash,
  blockHeader,
  chainLocks,
  networkInfo,
} from './rpc/chain-calls.ts';
import { answerRpc, MOST_BATCH_CHARS, MOST_CALLS, type RpcCall } from './rpc/envelope.ts';
import { type NodePassage, passOn } from './rpc/pass-through.ts';
import type { ReplyPart } from './rpc/reply-body.ts';
import { RpcError } from './rpc/rpc-error.ts';
import { type RpcParam, RpcParams } from './rpc/rpc-params.ts';
import { BlockWait } from './rpc/wait-for-block.ts';

/** A batch asks for thousands of hashes in so many bytes. */
const MOST_BODY_BYTES = 262_144;
/** Blob bytes in one answer, whatever a batch asks for. */
const MOST_DATA_BYTES = 16 * MAX_BLOB_BYTES;
/** A batch of small answers, or a list, and the text that it is sent as. */
const TEXT_WEIGHT_BYTES = 3 * MOST_BATCH_CHARS;
/** What a node says is handed on up to 16 MiB: its text, and the text that it is sent as. */
const PASSED_WEIGHT_BYTES = 3 * 16 * 1_048_576;
const CALL_WEIGHT_BYTES = 65_536;
/** What a byte of a body can become when it is read: `1,` is a number with its text. It stays until the last call is answered. */
const READ_BYTES = 40;

interface Method {
  readonly params: readonly RpcParam[];
  perform(params: RpcParams, call: CallContext): Promise<readonly ReplyPart[]> | readonly ReplyPart[];
}

interface CallContext extends BlobCallModules {
  readonly allowance: DataAllowance;
  readonly wait: BlockWait;
  /** null: nothing is handed on. */
  readonly passage: NodePassage | null;
  readonly signal: AbortSignal;
}

const hash = (name: string): RpcParam => ({ name, type: 'string' });
const json = (value: unknown): readonly ReplyPart[] => [JSON.stringify(value)];

/** Of a node's methods, those that live clients send to an archive. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'getnevmblobdata',
    {
      params: [hash('versionhash_or_txid'), { name: 'getdata', type: 'bool', optional: true }],
      perform: (params, call) => getBlob(call, params, call.allowance, call.signal),
    },
  ],
  [
    'listnevmblobdata',
    {
      params: [
        { name: 'count', type: 'number', optional: true },
        { name: 'from', type: 'number', optional: true },
        { name: 'options', type: 'object', optional: true },
      ],
      perform: (params, call) => listBlobs(call, params, call.allowance, call.signal),
    },
  ],
  ['getblockcount', { params: [], perform: (_, { chain }) => json(blockCount(chain)) }],
  ['getbestblockhash', { params: [], perform: (_, { chain }) => json(bestBlockHash(chain)) }],
  [
    'getblockhash',
    {
      params: [{ name: 'height', type: 'number' }],
      perform: (params, { view, chain }) => json(blockHash(view, chain, params.integer('height'))),
    },
  ],
  [
    'getblockheader',
    {
      params: [hash('blockhash'), { name: 'verbose', type: 'bool', optional: true }],
      async perform(params, { chain, signal }) {
        if (params.isGiven('verbose') && !params.flag('verbose')) {
          throw new RpcError('misc', 'The archive shows headers decoded only; ask a node for their bytes.');
        }
        return json(await blockHeader(chain, params.hash('blockhash', 'hash'), signal));
      },
    },
  ],
  [
    'waitfornewblock',
    {
      params: [{ name: 'timeout', type: 'number', optional: true }],
      perform: async (params, { chain, wait, signal }) =>
        json(await wait.next(chain, params.integer('timeout'), signal)),
    },
  ],
  ['getbestchainlock', { params: [], perform: (_, { chain }) => json(bestChainLock(chain)) }],
  ['getchainlocks', { params: [], perform: (_, { chain }) => json(chainLocks(chain)) }],
  ['getblockchaininfo', { params: [], perform: (_, { view, chain }) => json(blockchainInfo(view, chain)) }],
  ['getnetworkinfo', { params: [], perform: (_, { view, dialect }) => json(networkInfo(view, dialect)) }],
]);
/** By this method a client tells the specification's node from the others; it need only be known. */
const PROBED = 'svccreatenevmblob';

const CALL = z.object({
  method: z.string(),
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  jsonrpc: z.string().optional(),
});
const REPLY = z.object({
  result: z.unknown(),
  error: z.object({ code: z.int(), message: z.string() }).nullable(),
  id: z.union([z.string(), z.number(), z.boolean(), z.null()]),
});

/** A batch that is read is 200, whatever is in it; a single call has the status of its error. */
export const RPC_ANSWERS: readonly GoodAnswer[] = [
  { mediaType: 'application/json', schema: z.union([REPLY, z.array(REPLY)]) },
  ...[400, 404, 500, 503].map((status) => ({ status, mediaType: 'application/json', schema: RPC_REFUSAL })),
];

/** What a client of the node finds here, by changing its URL. */
export function facadeRoutes(
  view: ArchiveView,
  chain: ChainView,
  dialect: FacadeDialect,
  passage: NodePassage | null = null,
): Route[] {
  const wait = new BlockWait();
  return [
    defineRawPostRoute({
      path: FACADE_PATH,
      says: `JSON-RPC as a node answers it: ${[...METHODS.keys()].join(', ')}. Errors have the statuses and codes of a node; 503 is a fault.`,
      answers: RPC_ANSWERS,
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      describedBody: z.union([CALL, z.array(CALL)]),
      mostBytes: MOST_BODY_BYTES,
      weighBytes: ({ body }) => READ_BYTES * body.length + weightOf(body, passage),
      countRequests: ({ body }) => countObjects(body),
      answer({ body, signal, report }) {
        const allowance = { bytesLeft: MOST_DATA_BYTES };
        const context = { view, chain, dialect, allowance, wait, passage, signal };
        const performing = async (call: RpcCall) => {
          try {
            return await perform(call, context);
          } catch (error) {
            if (!(error instanceof RpcError)) report(error);
            throw error;
          }
        };
        return answerRpc(body, performing, signal);
      },
    }),
  ];
}

async function perform(call: RpcCall, context: CallContext): Promise<readonly ReplyPart[]> {
  const { method, params } = call;
  const { passage, signal } = context;
  // Before those of our own: who names `getblockheader` wants the node's whole answer. Never of blobs: those are ours.
  if (passage?.methods.has(method) === true) return [await passOn(call, passage, signal)];
  if (context.dialect === 'svc' && method === PROBED) {
    throw new RpcError('misc', 'This is an archive: submit blobs to a node.');
  }
  const known = METHODS.get(method);
  if (known === undefined) throw new RpcError('methodNotFound', 'Method not found');
  return await known.perform(new RpcParams(method, known.params, params), context);
}

/** Each call is one, and JSON has no other way to begin it. */
function countObjects(body: Uint8Array): number {
  return Math.min(
    MOST_CALLS,
    body.reduce((count, byte) => count + (byte === 0x7b ? 1 : 0), 0),
  );
}

/**
 * Before it is parsed: no data without `true`, which JSON spells in one way only. Names can be spelled with escapes, and
 * whatever does not begin as a single call can be a batch.
 */
function weightOf(body: Uint8Array, passage: NodePassage | null): number {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
  const names = (method: string) => text.includes('\\') || text.includes(method);
  const isBatch = text.trimStart()[0] !== '{';
  const hasData = text.includes('true');
  if (hasData && (isBatch || names('listnevmblobdata'))) return 3 * MOST_DATA_BYTES;
  if (passage !== null && [...passage.methods].some(names)) return PASSED_WEIGHT_BYTES;
  if (hasData) return HEX_WEIGHT_BYTES;
  return isBatch || names('listnevmblobdata') ? TEXT_WEIGHT_BYTES : CALL_WEIGHT_BYTES;
}
