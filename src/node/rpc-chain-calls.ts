import { z } from 'zod';
import type { BlockHash } from '../blob/ids.ts';
import { blockHash, bytesOfHex, decode, height, seconds } from './decode.ts';
import { NodeRpcError } from './errors.ts';
import { LARGE_ANSWER_BYTES, SMALL_ANSWER_BYTES } from './node-call.ts';
import { parseJson, readEnvelope, resultOf } from './rpc-answer.ts';
import { encodeCall } from './rpc-request.ts';
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

interface Limits {
  readonly limitBytes?: number;
  readonly timeoutMs?: number;
}
