import { codeOf, HoldfastError, messageOf } from '../../blob/errors.ts';
import type { BlockHash } from '../../blob/ids.ts';
import type { ChainIndex } from '../../catalog/chain-index.ts';
import type { WalkedBlock } from '../../catalog/walked-block.ts';
import { BlockTimes } from './block-times.ts';
import type { ChainNode } from './chain-node.ts';
import { ChainError } from './errors.ts';
import { HashesAhead } from './hashes-ahead.ts';
import { type ProvenBlock, readBlock } from './read-block.ts';

/** Blocks asked for ahead of the one that is read. */
const LOOK_AHEAD = 4;
/** Blocks that share one synced commit, and the raw bytes that they may hold in memory. */
const GROUP = { blocks: 64, bytes: 8 * 1_048_576 } as const;

type HistoryIndex = Pick<ChainIndex, 'state' | 'hashBefore' | 'recordHistory' | 'timesUpTo' | 'blockAt'>;

/**
 * Walks down from the lowest block that is recorded to this height. Each block is the one that the block above it names,
 * so that all are on our branch whatever the node's is meanwhile; what is recorded stays over a stop, and the next walk
 * goes on below it. Where the walk began for good is not changed by it.
 *
 * `progress` is told the lowest height that is recorded, after each commit.
 * @throws ChainError `chain/pruned-block` when the node has thrown such a block away.
 */
export async function walkHistory(
  downTo: number,
  chain: HistoryIndex,
  node: ChainNode,
  progress: (lowestHeight: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let group: ProvenBlock[] = [];
  let bytes = 0;
  const commit = async () => {
    const [first] = group.reverse();
    if (first === undefined) return;
    const times = await BlockTimes.before(first.height, first.previousHash, chain, node, signal);
    const blocks: WalkedBlock[] = group.map((block) => ({
      ...block,
      medianTimeSeconds: times.follow(block.timeSeconds),
    }));
    chain.recordHistory(blocks);
    group = [];
    bytes = 0;
    progress(first.height);
  };
  const { lowestHeight } = chain.state;
  if (lowestHeight === null || chain.state.tip === null) throw notBegun();
  for await (const { block, rawBytes } of blocksBelow(lowestHeight, downTo, chain.hashBefore, node, signal)) {
    group.push(block);
    bytes += rawBytes;
    if (group.length >= GROUP.blocks || bytes >= GROUP.bytes) await commit();
  }
  await commit();
}

/** From the top downwards; the hashes are asked for by height, and count only where the block above names the same. */
async function* blocksBelow(
  top: number,
  downTo: number,
  hashBefore: BlockHash | null,
  node: ChainNode,
  signal: AbortSignal,
): AsyncGenerator<{ readonly block: ProvenBlock; readonly rawBytes: number }> {
  const guesses = new Map<number, Promise<Guess>>();
  const hashes = new HashesAhead(downTo, node, signal);
  let named = hashBefore;
  let next = top - 1;
  for (let height = top - 1; height >= downTo && named !== null; height -= 1) {
    for (; next >= downTo && guesses.size < LOOK_AHEAD; next -= 1) {
      const guess = guessAt(next, next === top - 1 ? named : hashes.at(next), node, signal);
      // What fails is told when its turn comes; nobody may listen any more then.
      guess.catch(() => undefined);
      guesses.set(next, guess);
    }
    const guess = await guesses.get(height);
    guesses.delete(height);
    // Its branch is not ours any more: by hash the node has the block all the same.
    const bytes =
      guess?.hash === named && guess.bytes !== null ? guess.bytes : await rawBlock(named, height, node, signal);
    const block = readBlock(bytes, named, height);
    yield { block, rawBytes: bytes.length };
    named = block.previousHash;
  }
}

interface Guess {
  readonly hash: BlockHash | null;
  readonly bytes: Uint8Array | null;
}

async function guessAt(
  height: number,
  hashAt: BlockHash | Promise<BlockHash | null>,
  node: ChainNode,
  signal: AbortSignal,
): Promise<Guess> {
  const hash = await hashAt;
  return { hash, bytes: hash === null ? null : await rawBlock(hash, height, node, signal) };
}

async function rawBlock(hash: BlockHash, height: number, node: ChainNode, signal: AbortSignal): Promise<Uint8Array> {
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

function notBegun(): ChainError {
  return new ChainError('chain/start-height', 'The walk of the chain has not begun, so nothing can be before it.', {
    retryable: true,
    hint: 'Wait until the node has answered.',
  });
}
