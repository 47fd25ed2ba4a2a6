import type { BlockHash } from '../../blob/ids.ts';
import type { ChainNode } from './chain-node.ts';
import { HashesAhead } from './hashes-ahead.ts';
import { type ProvenBlock, readBlock } from './read-block.ts';

/** Blocks asked for ahead of the one that is read: the node works while we parse. Bounds memory too. */
const LOOK_AHEAD = 4;

export interface StreamedBlock {
  readonly block: ProvenBlock;
  readonly rawBytes: number;
}

/**
 * The blocks of the node's branch at these heights, in order, proven one by one. One call a block, and one for the hashes
 * of many; that of the tip is known already. Ends early where the branch does.
 */
export async function* blocksAt(
  first: number,
  last: number,
  tip: { readonly height: number; readonly hash: BlockHash },
  node: ChainNode,
  signal: AbortSignal,
): AsyncGenerator<StreamedBlock> {
  const asked: Promise<StreamedBlock | null>[] = [];
  const hashes = new HashesAhead(tip.height <= last ? last - 1 : last, node, signal);
  let next = first;
  for (let height = first; height <= last; height += 1) {
    for (; next <= last && asked.length < LOOK_AHEAD; next += 1) {
      const asking = blockAt(next, next === tip.height ? tip.hash : hashes.at(next), node, signal);
      // What fails is told when its turn comes; nobody may listen any more then.
      asking.catch(() => undefined);
      asked.push(asking);
    }
    const block = await asked.shift();
    if (block === undefined || block === null) return;
    yield block;
  }
}

async function blockAt(
  height: number,
  hashAt: BlockHash | Promise<BlockHash | null>,
  node: ChainNode,
  signal: AbortSignal,
): Promise<StreamedBlock | null> {
  const hash = await hashAt;
  if (hash === null) return null;
  const bytes = await node.rawBlock(hash, signal);
  return { block: readBlock(bytes, hash, height), rawBytes: bytes.length };
}
