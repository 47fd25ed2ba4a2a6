import { getBlockCount, getBlockHeader, type NodeClient, NodeRpcError } from '../node/index.ts';
import type { HeaderLookup } from '../verify/index.ts';

/** "Block not found": `RPC_INVALID_ADDRESS_OR_KEY` of the node's `getblockheader`. */
const NOT_FOUND = -5;

/** Asks a node for headers, and for its height only where that decides something. */
export function headerLookup(client: NodeClient, signal: AbortSignal): HeaderLookup {
  return async (blockHash) => {
    try {
      const { hash, height, confirmations } = await getBlockHeader(client, blockHash, { signal });
      const tipHeight = confirmations < 1 ? await getBlockCount(client, { signal }) : null;
      return { kind: 'known', blockHash: hash, height, confirmations, tipHeight };
    } catch (error) {
      if (!(error instanceof NodeRpcError) || error.rpcCode !== NOT_FOUND) throw error;
      return { kind: 'unknown', tipHeight: await getBlockCount(client, { signal }) };
    }
  };
}
