import { z } from 'zod';
import type { JsonSize } from '../core/blob/bounded-json.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { Clock } from '../core/time/clock.ts';
import type { ArchiveView } from '../view/archive-view.ts';
import type { ChainView } from '../view/chain-view.ts';
import { HttpError } from './errors.ts';
import { RPC_REFUSAL } from './openapi.ts';
import { NOTHING } from './parameters.ts';
import { ALL_WORDS, type PublicWords } from './public-words.ts';
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
import { answerRpc, MAX_CALLS, MAX_TOKENS, type MeasuredBody, measure, type RpcCall } from './rpc/envelope.ts';
import { type NodePassThrough, passOn } from './rpc/pass-through.ts';
import type { ReplyPart } from './rpc/reply-body.ts';
import { RpcError, rpcFault } from './rpc/rpc-error.ts';
import { type RpcParam, RpcParams } from './rpc/rpc-params.ts';
import { BlockWait } from './rpc/wait-for-block.ts';

/** A batch asks for thousands of hashes in so many bytes. */
const MAX_BODY_BYTES = 262_144;
/** Blob bytes in one answer, whatever a batch asks for. */
const MAX_DATA_BYTES = 16 * MAX_BLOB_BYTES;
/** The node's answer to a call that is handed on: up to 16 MiB, read and as its text. */
const PASSED_WEIGHT_BYTES = 2 * 16 * 1_048_576;
/** The memory of a value of a body when it is read. It stays until the last call is answered. */
const TOKEN_BYTES = 128;
/** A call of the usual members has so many values and names. */
const TOKENS_A_CALL = 12;

interface Method {
  readonly params: readonly RpcParam[];
  perform(params: RpcParams, call: CallContext): Promise<readonly ReplyPart[]> | readonly ReplyPart[];
}

interface CallContext extends BlobCallModules {
  readonly allowance: DataAllowance;
  readonly wait: BlockWait;
  /** null: nothing is handed on. */
  readonly passThrough: NodePassThrough | null;
  readonly signal: AbortSignal;
  readonly client: string;
  /** The budget of a single call: it holds nothing while it waits. */
  readonly releaseMemory: () => void;
}

const hash = (name: string): RpcParam => ({ name, type: 'string' });
const json = (value: unknown): readonly ReplyPart[] => [JSON.stringify(value)];

/** The methods of a node that live clients send to an archive. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'getnevmblobdata',
    {
      params: [hash('versionhash_or_txid'), { name: 'getdata', type: 'bool', optional: true }],
      perform: (params, call) => getBlob(call, params, call.allowance),
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
      perform: (params, call) => listBlobs(call, params, call.allowance),
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
      async perform(params, { chain, wait, signal, client, releaseMemory }) {
        releaseMemory();
        return json(await wait.next(chain, params.integer('timeout'), client, signal));
      },
    },
  ],
  ['getbestchainlock', { params: [], perform: (_, { chain }) => json(bestChainLock(chain)) }],
  ['getchainlocks', { params: [], perform: (_, { chain }) => json(chainLocks(chain)) }],
  [
    'getblockchaininfo',
    { params: [], perform: async (_, { view, chain, signal }) => json(await blockchainInfo(view, chain, signal)) },
  ],
  ['getnetworkinfo', { params: [], perform: (_, { view, dialect }) => json(networkInfo(view, dialect)) }],
]);
/** A client tells the specification's node from the others by this method; it need only be known. */
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

/** The façade that a client of the node finds here, by changing its URL. */
export function facadeRoutes(
  view: ArchiveView,
  chain: ChainView,
  dialect: FacadeDialect,
  clock: Pick<Clock, 'steadyMs'>,
  passThrough: NodePassThrough | null = null,
  words: PublicWords = ALL_WORDS,
): Route[] {
  const wait = new BlockWait(clock);
  const bodies = new MeasuredBodies();
  return [
    defineRawPostRoute({
      path: FACADE_PATH,
      says: `JSON-RPC as a node answers it: ${[...METHODS.keys()].join(', ')}. Errors have the statuses and codes of a node; 503 is a fault.`,
      answers: RPC_ANSWERS,
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      describedBody: z.union([CALL, z.array(CALL)]),
      maxBytes: MAX_BODY_BYTES,
      countRequests: ({ body }) => worthOf(bodies.of(body).size),
      async answer({ body, signal, report, client, isLocal, hold, isTight, sending, releaseMemory }) {
        const measured = bodies.of(body);
        await hold(Math.min(measured.size.tokens, MAX_TOKENS) * TOKEN_BYTES);
        const allowance = { bytesLeft: MAX_DATA_BYTES };
        const isBatch = body.find((byte) => byte > SPACE) !== OPENING_BRACE;
        const context = {
          ...{ view, chain, dialect, allowance, wait, passThrough, signal, client },
          asking: { signal, hold: holdForCall(hold), isTight, sending },
          releaseMemory: isBatch ? () => undefined : releaseMemory,
        };
        const performing = async (call: RpcCall) => {
          try {
            const reply = await perform(call, context);
            await context.asking.hold(
              reply.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0),
            );
            return reply;
          } catch (error) {
            if (!(error instanceof RpcError)) report(error);
            throw error instanceof RpcError ? error.inWords(isLocal ? ALL_WORDS : words) : error;
          }
        };
        return answerRpc(measured, performing, clock, signal);
      },
    }),
  ];
}

/** Bodies that are under way: the charge, the memory and the parser ask how large one is, and it is measured once. */
class MeasuredBodies {
  readonly #measured = new WeakMap<Uint8Array, MeasuredBody>();

  of(body: Uint8Array): MeasuredBody {
    const known = this.#measured.get(body) ?? measure(body);
    this.#measured.set(body, known);
    return known;
  }
}

async function perform(call: RpcCall, context: CallContext): Promise<readonly ReplyPart[]> {
  const { method, params } = call;
  const { passThrough, signal } = context;
  // Before those of our own: who names `getblockheader` wants the node's whole answer. Never of blobs: those are ours.
  if (passThrough?.methods.has(method) === true) {
    await context.asking.hold(PASSED_WEIGHT_BYTES);
    return [await passOn(call, passThrough, signal)];
  }
  if (context.dialect === 'svc' && method === PROBED) {
    throw new RpcError('misc', 'This is an archive: submit blobs to a node.');
  }
  const known = METHODS.get(method);
  if (known === undefined) throw new RpcError('methodNotFound', 'Method not found');
  return await known.perform(new RpcParams(method, known.params, params), context);
}

/** Each call is an object, and what else is in a body is as much work as calls of that size. */
function worthOf({ tokens, objects }: JsonSize): number {
  return Math.min(MAX_CALLS, Math.max(objects, Math.ceil(tokens / TOKENS_A_CALL)));
}

const SPACE = 0x20;
const OPENING_BRACE = 0x7b;

/** One call of a batch that finds no memory is refused by itself. */
function holdForCall(hold: (bytes: number) => Promise<void>): (bytes: number) => Promise<void> {
  return async (bytes) => {
    try {
      await hold(bytes);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      throw rpcFault(`${error.message} Ask again, or for less at a time.`, 5);
    }
  };
}
