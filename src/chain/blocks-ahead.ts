import { codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';
import { HashesAhead } from './hashes-ahead.ts';

/** Concurrent requests to the node while blocks are read and recorded. */
const LOOK_AHEAD = 4;
/**
 * Limits of one request. Requests in progress must keep the node busy during a commit: with 16 blocks the follower
 * waits for the node twice as long (measured). The bytes are estimated from earlier blocks and bound memory.
 */
const QUESTION = { blocks: 32, bytes: 262_144 } as const;

/** A block as the node gave it, not verified. */
export interface GivenBlock {
  readonly height: number;
  readonly hash: BlockHash;
  readonly bytes: Uint8Array;
}

/** A height whose hash is already known. */
export interface KnownHash {
  readonly height: number;
  readonly hash: BlockHash;
}

/**
 * Iterates over the blocks of the node's branch from one height to another, upwards or downwards. Requests run ahead of
 * the consumer, several at a time; otherwise node and archive would wait for each other. Ends early where the branch
 * ends.
 */
export async function* blocksAhead(
  first: number,
  last: number,
  known: KnownHash,
  node: ChainNode,
  signal: AbortSignal,
): AsyncGenerator<GivenBlock> {
  const step = first <= last ? 1 : -1;
  const hashes = new HashesAhead(known.height === last ? last - step : last, node, signal);
  const hashAt = (height: number) => (height === known.height ? known.hash : hashes.at(height));
  const asked: Promise<Answer>[] = [];
  let next = first;
  let count = 1;
  const askAhead = () => {
    while (asked.length < LOOK_AHEAD && (last - next) * step >= 0) {
      const left = Math.abs(last - next) + 1;
      const heights = Array.from({ length: Math.min(left, count) }, (_, index) => next + index * step);
      const answer = answerTo(heights, hashAt, node, signal);
      // The error is reported in its turn; the consumer may have stopped by then.
      answer.catch(() => undefined);
      asked.push(answer);
      next += heights.length * step;
    }
  };
  askAhead();
  for (let answer = asked.shift(); answer !== undefined; answer = asked.shift()) {
    const { named, bytes, isEnd } = await answer;
    if (bytes !== null) count = nextCount(count, bytes);
    if (!isEnd) askAhead();
    for (const [index, block] of named.entries()) {
      yield { ...block, bytes: bytes?.[index] ?? (await rawBlock(block, node, signal)) };
    }
    if (isEnd) return;
  }
}

interface Answer {
  readonly named: readonly KnownHash[];
  /** null: the request failed as a whole; single requests then show which block is at fault. */
  readonly bytes: readonly Uint8Array[] | null;
  /** true when the branch ends here. */
  readonly isEnd: boolean;
}

async function answerTo(
  heights: readonly number[],
  hashAt: (height: number) => BlockHash | Promise<BlockHash | null>,
  node: ChainNode,
  signal: AbortSignal,
): Promise<Answer> {
  const named: KnownHash[] = [];
  for (const [index, hash] of (await Promise.all(heights.map(hashAt))).entries()) {
    if (hash === null) break;
    named.push({ height: heights[index] ?? 0, hash });
  }
  return { named, bytes: await bytesOf(named, node, signal), isEnd: named.length < heights.length };
}

async function bytesOf(named: readonly KnownHash[], node: ChainNode, signal: AbortSignal) {
  const [first] = named;
  if (first === undefined) return [];
  if (named.length === 1) return [await rawBlock(first, node, signal)];
  try {
    return await node.rawBlocks(
      named.map(({ hash }) => hash),
      signal,
    );
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Grows from one, as far as blocks of this size leave room. */
function nextCount(count: number, given: readonly Uint8Array[]): number {
  const largest = given.reduce((most, { length }) => Math.max(most, length), 1);
  return Math.max(1, Math.min(count * 2, QUESTION.blocks, Math.floor(QUESTION.bytes / largest)));
}

/** @throws ChainError `chain/pruned-block` when the node has pruned the block */
export async function rawBlock({ height, hash }: KnownHash, node: ChainNode, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await node.rawBlock(hash, signal);
  } catch (cause) {
    if (!(cause instanceof HoldfastError) || !/pruned/i.test(cause.message)) throw cause;
    throw new ChainError(
      'chain/pruned-block',
      `The node has pruned block ${height}, so its blobs are unknown: ${messageOf(cause)}`,
      {
        details: { height, hash, code: codeOf(cause) },
        retryable: false,
        hint: `Add a node that is not pruned to HOLDFAST_NODE_URL, or start above height ${height}.`,
        cause,
      },
    );
  }
}
