import { codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';
import { HashesAhead } from './hashes-ahead.ts';

/** Questions under way at the node while blocks are read and recorded. */
const LOOK_AHEAD = 4;
/**
 * Blocks of one question at most: all that are under way are to keep the node busy while a group is committed (measured: the walk
 * waits for the node half as long as with 16). And their raw bytes, as far as the ones before tell, which bounds memory.
 */
const QUESTION = { blocks: 32, bytes: 262_144 } as const;

/** As the node gave it: unproven. */
export interface GivenBlock {
  readonly height: number;
  readonly hash: BlockHash;
  readonly bytes: Uint8Array;
}

/** A height whose hash need not be asked for. */
export interface KnownHash {
  readonly height: number;
  readonly hash: BlockHash;
}

/**
 * The blocks of the node's branch from one height to another, upwards or downwards, asked for ahead of whoever reads them
 * and several at a time: one by one, the node would wait for us while we write, and we for the node. Ends early where the
 * branch does.
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
      // What fails is told when its turn comes; nobody may listen any more then.
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
  /** null: together they did not come; alone each says why, if it is its fault. */
  readonly bytes: readonly Uint8Array[] | null;
  /** The branch reaches no farther. */
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

/** Grows from one, as far as such blocks leave room. */
function nextCount(count: number, given: readonly Uint8Array[]): number {
  const largest = given.reduce((most, { length }) => Math.max(most, length), 1);
  return Math.max(1, Math.min(count * 2, QUESTION.blocks, Math.floor(QUESTION.bytes / largest)));
}

/** @throws ChainError `chain/pruned-block` when the node has thrown it away. */
export async function rawBlock({ height, hash }: KnownHash, node: ChainNode, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await node.rawBlock(hash, signal);
  } catch (cause) {
    if (!(cause instanceof HoldfastError) || !/pruned/i.test(cause.message)) throw cause;
    throw new ChainError(
      'chain/pruned-block',
      `The node has thrown block ${height} away, so that what is on it cannot be told: ${messageOf(cause)}`,
      {
        details: { height, hash, code: codeOf(cause) },
        retryable: false,
        hint: `Point HOLDFAST_NODE_URL (also) at a node that is not pruned, or begin above height ${height}.`,
        cause,
      },
    );
  }
}
