import type { ChainIndex } from '../catalog/chain-index.ts';
import type { WalkedBlock } from '../catalog/walked-block.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { BlockTimes } from './block-times.ts';
import { blocksAhead, rawBlock } from './blocks-ahead.ts';
import { ChainError } from './errors.ts';
import { type ProvenBlock, readBlock } from './read-block.ts';

/** Blocks in one synchronous commit, and the bytes of memory that they may use. */
const GROUP = { blocks: 64, bytes: 8 * 1_048_576 } as const;

type HistoryIndex = Pick<ChainIndex, 'state' | 'hashBefore' | 'recordHistory' | 'timesUpTo' | 'blockAt'>;

/** Follows history, one request at a time. */
export class HistoryWalk {
  readonly #chain: HistoryIndex;
  readonly #node: ChainNode;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(chain: HistoryIndex, node: ChainNode) {
    this.#chain = chain;
    this.#node = node;
  }

  /** Runs `walkHistory` after the requests before it. */
  downTo(height: number, progress: (lowestHeight: number) => void, signal: AbortSignal): Promise<void> {
    const walking = this.#turn.then(async () => {
      signal.throwIfAborted();
      await walkHistory(height, this.#chain, this.#node, progress, signal);
    });
    this.#turn = walking.catch(() => {});
    return walking;
  }
}

/**
 * Follows history from the lowest recorded block down to this height. Each block is the parent that the block above
 * names, so all are on the followed branch. Recorded blocks survive a stop, and the next walk continues below them. The
 * recorded start height stays the same.
 *
 * Calls `progress` with the lowest recorded height after each commit.
 * @throws ChainError `chain/pruned-block` when the node has pruned such a block
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
  if (lowestHeight <= downTo) return;
  for await (const { block, rawBytes } of blocksBelow(lowestHeight, downTo, chain.hashBefore, node, signal)) {
    group.push(block);
    bytes += rawBytes;
    if (group.length >= GROUP.blocks || bytes >= GROUP.bytes) await commit();
  }
  await commit();
}

/** Iterates downwards. Hashes by height are guesses, valid only when the block above names the same parent. */
async function* blocksBelow(
  top: number,
  downTo: number,
  hashBefore: BlockHash | null,
  node: ChainNode,
  signal: AbortSignal,
): AsyncGenerator<{ readonly block: ProvenBlock; readonly rawBytes: number }> {
  if (hashBefore === null) return;
  let named: BlockHash | null = hashBefore;
  const ahead = blocksAhead(top - 1, downTo, { height: top - 1, hash: hashBefore }, node, signal);
  try {
    for (let height = top - 1; height >= downTo && named !== null; height -= 1) {
      const { value: guess } = await ahead.next();
      // The node can give the block by hash even when its own branch is another one.
      const isOurs = guess !== undefined && guess.hash === named;
      const bytes: Uint8Array = isOurs ? guess.bytes : await rawBlock({ height, hash: named }, node, signal);
      const block = readBlock(bytes, named, height);
      yield { block, rawBytes: bytes.length };
      named = block.previousHash;
    }
  } finally {
    await ahead.return(undefined);
  }
}

function notBegun(): ChainError {
  return new ChainError(
    'chain/start-height',
    'Holdfast has not followed any block yet, so history has no end to start from.',
    {
      retryable: true,
      hint: 'Wait until the node has answered.',
    },
  );
}
