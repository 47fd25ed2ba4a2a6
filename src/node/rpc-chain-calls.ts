import { z } from 'zod';
import type { BlockHash } from '../core/blob/ids.ts';
import { type BatchedReads, type BatchReader, batchAnswers } from './batched-reads.ts';
import type { ChainHeader, ChainNode, HeaderMembers, SpentScript } from './chain-node.ts';
import { blockHash, bytesOfHex, decode, height, seconds, txId } from './decode.ts';
import { NodeError, NodeRpcError } from './errors.ts';
import { bytesOfLargeAnswer } from './hex-answer.ts';
import { LARGE_ANSWER_BYTES, LARGEST_BLOCK_BYTES, SMALL_ANSWER_BYTES } from './node-call.ts';
import { parseJson, type RpcAnswer, readEnvelope, resultOf } from './rpc-answer.ts';
import { encodeCall } from './rpc-request.ts';
import type { NodeTransport } from './transport.ts';

/** A header with its members that never change. */
export interface NodeHeader extends ChainHeader {
  readonly shown: HeaderMembers;
}

/** The node's calls for following the chain. They are the same in every dialect. */
export interface ChainCalls extends ChainNode {
  header(hash: BlockHash, signal: AbortSignal): Promise<NodeHeader>;
}

const header = z.object({
  hash: blockHash,
  height,
  previousblockhash: blockHash.optional(),
  time: seconds,
  mediantime: seconds,
  version: z.int().optional(),
  versionHex: z.string().optional(),
  merkleroot: z.string().optional(),
  nonce: z.int().optional(),
  bits: z.string().optional(),
  difficulty: z.number().optional(),
  chainwork: z.string().optional(),
  nTx: z.int().optional(),
});
const chainLock = z.object({ blockhash: blockHash, height });
const tip = z.object({ hash: blockHash, height });
const prevout = z.object({ scriptPubKey: z.object({ hex: z.string() }) });
const spending = z.object({ vin: z.array(z.object({ txid: txId, vout: z.int(), prevout: prevout.optional() })) });

/** `RPC_INVALID_PARAMETER`, with the message "Block height out of range". */
const OUT_OF_RANGE = -8;
/** The verbosity with the outputs that are spent. Older releases take every number for `true`, and leave them out. */
const WITH_PREVOUTS = 2;
/** Code of a network without ChainLocks, and of a node that has received none. */
const RPC_INTERNAL_ERROR = -32603;
/** Milliseconds that the answer to a long poll may be late. */
const WAIT_SLACK_MS = 15_000;
const BLOCK = 'getblock';

export function chainCalls(transport: NodeTransport, batches: BatchedReads): ChainCalls {
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

  /** The last request for a block of the largest size. */
  let largest: Promise<unknown> = Promise.resolve();

  return {
    async blockHashAt(at, signal) {
      try {
        return decode(blockHash, await call('getblockhash', [at], signal), 'getblockhash');
      } catch (error) {
        if (error instanceof NodeRpcError && error.rpcCode === OUT_OF_RANGE) return null;
        throw error;
      }
    },
    blockHashesFrom(first, count, signal) {
      const calls = Array.from({ length: count }, (_, index) => ({ method: 'getblockhash', params: [first + index] }));
      const request = { wallet: null, limitBytes: SMALL_ANSWER_BYTES, signal };
      return batches.ask(calls, request, eachIn(calls, hashIn), (place) => this.blockHashAt(first + place, signal));
    },
    async header(hash, signal) {
      const found = decode(header, await call('getblockheader', [hash], signal), 'getblockheader');
      const { version, versionHex, merkleroot, nonce, bits, difficulty, chainwork, nTx } = found;
      return {
        hash: found.hash,
        height: found.height,
        previousHash: found.previousblockhash ?? null,
        timeSeconds: found.time,
        medianTimeSeconds: found.mediantime,
        shown: { version, versionHex, merkleroot, nonce, bits, difficulty, chainwork, nTx },
      };
    },
    async rawBlock(hash, signal) {
      const request = { effect: 'read' as const, wallet: null, body: encodeCall(BLOCK, BLOCK, [hash, 0]), signal };
      try {
        return await transport.send({ ...request, limitBytes: LARGE_ANSWER_BYTES }, blockIn);
      } catch (error) {
        if (!(error instanceof NodeError) || error.code !== 'node/body-too-large') throw error;
      }
      // Few blocks are so large. One at a time bounds the memory.
      const asked = largest.then(() => transport.send({ ...request, limitBytes: LARGEST_BLOCK_BYTES }, blockIn));
      largest = asked.catch(() => undefined);
      return await asked;
    },
    rawBlocks(hashes, signal) {
      const calls = hashes.map((hash) => ({ method: BLOCK, params: [hash, 0] }));
      const request = { wallet: null, limitBytes: LARGE_ANSWER_BYTES, signal };
      const read = (answer: RpcAnswer, id: string) => bytesOfHex(resultOf(answer, id, BLOCK), BLOCK);
      return batches.ask(calls, request, eachIn(calls, read), (place) => {
        const hash = hashes[place];
        if (hash === undefined) throw new RangeError(`the block ${place} of ${hashes.length} is missing`);
        return this.rawBlock(hash, signal);
      });
    },
    async spentScripts(block, txids, signal) {
      const calls = txids.map((txid) => ({ method: 'getrawtransaction', params: [txid, WITH_PREVOUTS, block] }));
      const request = { wallet: null, limitBytes: LARGE_ANSWER_BYTES, signal };
      const read = ({ error, result }: RpcAnswer) => (error === null ? spentIn(result) : null);
      return await batches.ask(calls, request, eachIn(calls, read), async (place) => {
        const params = calls[place]?.params ?? [];
        try {
          return spentIn(await call('getrawtransaction', params, signal, { limitBytes: LARGE_ANSWER_BYTES }));
        } catch (error) {
          if (error instanceof NodeRpcError) return null;
          throw error;
        }
      });
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

function blockIn(body: Buffer): Uint8Array {
  if (body.length > LARGE_ANSWER_BYTES) return bytesOfLargeAnswer(body, BLOCK, BLOCK);
  return bytesOfHex(resultOf(readEnvelope(parseJson(body.toString('utf8'))), BLOCK, BLOCK), BLOCK);
}

function hashIn(answer: RpcAnswer, id: string): BlockHash | null {
  if (answer.error?.code === OUT_OF_RANGE) return null;
  return decode(blockHash, resultOf(answer, id, 'getblockhash'), 'getblockhash');
}

function spentIn(result: unknown): readonly SpentScript[] {
  const { vin } = decode(spending, result, 'getrawtransaction');
  return vin.map(({ txid, vout, prevout: spent }) => ({ txid, vout, script: spent?.scriptPubKey.hex ?? null }));
}

function eachIn<T>(calls: readonly unknown[], read: (answer: RpcAnswer, id: string) => T): BatchReader<T> {
  return (body) => {
    const answers = batchAnswers(parseJson(body.toString('utf8')), calls.length);
    return new Map([...answers].map(([place, answer]) => [place, read(answer, String(place))]));
  };
}

interface Limits {
  readonly limitBytes?: number;
  readonly timeoutMs?: number;
}
