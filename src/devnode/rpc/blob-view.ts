import type { CacheEntry } from '../chain/blob-cache.ts';
import type { Block } from '../chain/block.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import type { NodeContext } from './node-context.ts';
import { HexText, type ReplyObject } from './reply.ts';

/** The block on the active branch that contains a transaction; null when unconfirmed or disconnected. */
export function placeOf(chain: EmulatedChain, txid: string): Block | null {
  const block = chain.tree.blockOf(txid);
  return block !== null && chain.tree.isActive(block) ? block : null;
}

/** One blob in the dialect's format. A list leaves the block out. */
export function blobView(
  node: NodeContext,
  entry: CacheEntry,
  block: Block | null,
  withData: boolean,
  place: 'list' | 'get',
): ReplyObject {
  const { content } = entry;
  const versionhash = content.versionHash;
  const datasize = content.sizeBytes;
  const data = withData ? new HexText(node.hexOf(content)) : undefined;
  const mined = place === 'get' && block !== null ? { blockhash: block.hash, height: block.height } : {};
  const isMined = placeOf(node.chain, entry.txid) !== null;
  switch (node.dialect) {
    case 'svc':
    case 'syscoin-4.2':
      return { versionhash, datasize, data };
    case 'syscoin-4.4':
      // Before a block has the blob, the node says 0.
      return { versionhash, mpt: isMined ? entry.medianTimeSeconds : 0, datasize, ...mined, data };
    case 'syscoin-5': {
      const locked = 'blockhash' in mined && block !== null ? { chainlock: node.chain.locks.covers(block) } : {};
      return { versionhash, mtp: entry.medianTimeSeconds, datasize, txid: entry.txid, ...mined, ...locked, data };
    }
    default:
      return node.dialect satisfies never;
  }
}
