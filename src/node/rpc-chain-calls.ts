import { z } from 'zod';
import type { BlockHash } from '../blob/ids.ts';
import { readBatch } from './blob-answer.ts';
import { blockHash, bytesOfHex, decode, height, seconds } from './decode.ts';
import { malformedAnswer, NodeRpcError } from './errors.ts';
import { LARGE_ANSWER_BYTES, SMALL_ANSWER_BYTES } from './node-call.ts';
import { parseJson, type RpcAnswer, readEnvelope, resultOf } from './rpc-answer.ts';
import { encodeBatch, encodeCall } from './rpc-request.ts';
import type { NodeTransport } from './transport.ts';

export interface NodeHeader {
  readonly hash: BlockHash;
  readonly height: number;
  readonly previousHash: BlockHash | null;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
}

/** What following the chain asks of a node; has the form of the archive's `ChainNode`. The same in every dialect. */
export interface ChainCalls {
  /** null: the branch that the node follows does not reach so high. */
  blockHashAt(height: number, signal: AbortSignal): Promise<BlockHash | null>;
  /** The same of `count` heights from `first` on, as one batch. */
  blockHashesFrom(first: number, count: number, signal: AbortSignal): Promise<readonly (BlockHash | null)[]>;
  header(hash: BlockHash, signal: AbortSignal): Promise<NodeHeader>;
  rawBlock(hash: BlockHash, signal: AbortSignal): Promise<Uint8Array>;
  bestChainLock(signal: AbortSignal): Promise<{ readonly hash: BlockHash; readonly height: number } | null>;
  waitForNewBlock(waitMs: number, signal: AbortSignal): Promise<BlockHash>;
}

const header = z.object({
  hash: blockHash,
  height,
  previousblockhash: blockHash.optional(),
  time: seconds,
  mediantime: seconds,
});
const chainLock = z.object({ blockhash: blockHash, height });
const tip = z.object({ hash: blockHash, height });

/** `RPC_INVALID_PARAMETER`: "Block height out of range". */
const OUT_OF_RANGE = -8;
/** Said both by a network without ChainLocks and by a node that has not heard one yet. */
const RPC_INTERNAL_ERROR = -32603;
/** A long poll is answered a little after its own time. */
const WAIT_SLACK_MS = 15_000;

export function chainCalls(transport: NodeTransport): ChainCalls {
  function call(
    method: string,
    params: readonly unknown[],
    signal: AbortSignal,
    limits: Limits = {},
  ): Promise<unknown> {
    const { limitBytes = SMALL_ANSWER_BYTES, ...rest } = limits;
    const body = encodeCall(method, method, params);
    return transport.send({ effect: 'read', wallet: null, body, limitBytes, signal, ...rest }, (answer) =>
      resultOf(readEnvelope(parseJson(answer.toString('utf8'))), method, method),
    );
  }

  return {
    async blockHashAt(at, signal) {
      try {
        return decode(blockHash, await call('getblockhash', [at], signal), 'getblockhash');
      } catch (error) {
        if (error instanceof NodeRpcError && error.rpcCode === OUT_OF_RANGE) return null;
        throw error;
      }
    },
    async blockHashesFrom(first, count, signal) {
      const heights = Array.from({ length: count }, (_, index) => first + index);
      const body = encodeBatch(heights.map((at) => ({ method: 'getblockhash', params: [at] })));
      const request = { effect: 'read' as const, wallet: null, body, limitBytes: SMALL_ANSWER_BYTES, signal };
      return await transport.send(request, (answer) => {
        const value = parseJson(answer.toString('utf8'));
        // A node that is starting answers a batch with one error.
        if (!Array.isArray(value)) resultOf(readEnvelope(value), '', 'a batch');
        const answers = readBatch(value);
        return heights.map((_, index) => hashIn(answers.get(String(index)), String(index)));
      });
    },
    async header(hash, signal) {
      const found = decode(header, await call('getblockheader', [hash], signal), 'getblockheader');
      return {
        hash: found.hash,
        height: found.height,
        previousHash: found.previousblockhash ?? null,
        timeSeconds: found.time,
        medianTimeSeconds: found.mediantime,
      };
    },
    async rawBlock(hash, signal) {
      return bytesOfHex(await call('getblock', [hash, 0], signal, { limitBytes: LARGE_ANSWER_BYTES }), 'getblock');
    },
    async bestChainLock(signal) {
      try {
        const lock = decode(chainLock, await call('getbestchainlock', [], signal), 'getbestchainlock');
        return { hash: lock.blockhash, height: lock.height };
      } catch (error) {
        if (error instanceof NodeRpcError && error.rpcCode === RPC_INTERNAL_ERROR) return null;
        throw error;
      }
    },
    async waitForNewBlock(waitMs, signal) {
      const answer = await call('waitfornewblock', [waitMs], signal, { timeoutMs: waitMs + WAIT_SLACK_MS });
      return decode(tip, answer, 'waitfornewblock').hash;
    },
  };
}

function hashIn(answer: RpcAnswer | undefined, id: string): BlockHash | null {
  if (answer === undefined) throw malformedAnswer('The batch came back without this answer, or with two.', { id });
  if (answer.error?.code === OUT_OF_RANGE) return null;
  return decode(blockHash, resultOf(answer, id, 'getblockhash'), 'getblockhash');
}

interface Limits {
  readonly limitBytes?: number;
  readonly timeoutMs?: number;
}
