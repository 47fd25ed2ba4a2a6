import type { ChainNode } from '../node/chain-node.ts';
import { blocksAhead, type KnownHash } from './blocks-ahead.ts';
import { type ProvenBlock, readBlock } from './read-block.ts';

export interface StreamedBlock {
  readonly block: ProvenBlock;
  readonly rawBytes: number;
}

/**
 * Iterates over the blocks of the node's branch at these heights, in order, each verified. Ends early where the branch
 * ends.
 */
export async function* blocksAt(
  first: number,
  last: number,
  tip: KnownHash,
  node: ChainNode,
  signal: AbortSignal,
): AsyncGenerator<StreamedBlock> {
  for await (const { height, hash, bytes } of blocksAhead(first, last, tip, node, signal)) {
    yield { block: readBlock(bytes, hash, height), rawBytes: bytes.length };
  }
}
