import { decodeHex } from '../../core/blob/hex.ts';
import type { Block } from '../chain/block.ts';
import type { MinedTransaction } from '../chain/block-tree.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import { decodeMerkleBlock, encodeMerkleBlock } from '../chain/merkle-block.ts';
import { spendingView, transactionView } from './block-view.ts';
import type { Handler } from './node-context.ts';
import { parseHash } from './params.ts';
import { amount, type Reply, type ReplyObject } from './reply.ts';
import { RpcError } from './rpc-error.ts';

const NOT_IN_BLOCK = 'No such transaction found in the provided block. Use gettransaction for wallet transactions.';
const NOT_ANYWHERE = 'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.';

export const getRawTransaction: Handler = (params, { chain, hasTransactionIndex, hasUndoData }): Reply => {
  const txid = params.hash('txid', 'parameter 1');
  const verbosity = params.level('verbose', 0);
  const verbose = verbosity > 0;
  const blockHash = params.optionalString('blockhash');
  const waiting = blockHash === null ? chain.mempool.get(txid) : null;
  if (waiting !== null) {
    return verbose ? { ...transactionView(waiting), hex: waiting.raw.toString('hex') } : waiting.raw.toString('hex');
  }
  const indexed = hasTransactionIndex ? chain.tree.find(txid) : null;
  const mined = blockHash === null ? indexed : inBlock(chain, txid, parseHash(blockHash, 'parameter 3'));
  if (mined === null) throw new RpcError('invalidAddressOrKey', blockHash === null ? NOT_ANYWHERE : NOT_IN_BLOCK);
  if (!verbose) return mined.transaction.raw.toString('hex');
  const isCoinbase = mined.transaction.inputs[0]?.previous === null;
  const isTold = verbosity > 1 && hasUndoData && !isCoinbase;
  return {
    ...(mined.active || blockHash !== null ? { in_active_chain: mined.active } : {}),
    ...(isTold ? spendingView(chain, mined.transaction) : transactionView(mined.transaction)),
    hex: mined.transaction.raw.toString('hex'),
    ...placeView(chain, mined),
  };
};

/** The proof refers to the block that contains the transaction, even when that block was disconnected (recorded). */
export const getTxOutProof: Handler = (params, { chain }) => {
  const txids = params.array('txids').map((txid) => parseHash(typeof txid === 'string' ? txid : '', 'txid'));
  const [first] = txids;
  if (first === undefined) throw new RpcError('invalidParameter', "Parameter 'txids' cannot be empty");
  if (new Set(txids).size < txids.length) {
    throw new RpcError('invalidParameter', `Invalid parameter, duplicated txid: ${duplicateOf(txids)}`);
  }
  const blockHash = params.optionalString('blockhash');
  const block = blockHash === null ? blockOf(chain, first) : chain.tree.get(parseHash(blockHash, 'blockhash'));
  if (block === null) throw new RpcError('invalidAddressOrKey', 'Block not found');
  const inside = block.transactions.map((transaction) => transaction.txid);
  const wanted = new Set<string>(txids);
  if (inside.filter((txid) => wanted.has(txid)).length < wanted.size) {
    throw new RpcError('invalidAddressOrKey', 'Not all transactions found in specified or retrieved block');
  }
  return encodeMerkleBlock(block.header, inside, wanted).toString('hex');
};

export const verifyTxOutProof: Handler = (params, { chain }) => {
  const proof = decoded(params.string('proof'));
  if (proof === null) return [];
  const block = chain.tree.get(proof.blockHash);
  if (block === null || !chain.tree.isActive(block)) {
    throw new RpcError('invalidAddressOrKey', 'Block not found in chain');
  }
  return proof.txids;
};

export const getRawMempool: Handler = (_, { chain }) => [...chain.mempool.values()].map(({ txid }) => txid);

export const getMempoolInfo: Handler = (_, { chain }) => {
  const waiting = [...chain.mempool.values()];
  return {
    loaded: true,
    size: waiting.length,
    bytes: waiting.reduce((sum, transaction) => sum + transaction.virtualBytes, 0),
    // The real figure depends on the node's allocator; an empty pool uses 64 bytes (recorded).
    usage: 64 + waiting.reduce((sum, transaction) => sum + transaction.raw.length + 1024, 0),
    total_fee: amount(waiting.reduce((sum, transaction) => sum + transaction.feeSats, 0n)),
    maxmempool: 300_000_000,
    mempoolminfee: amount(1000n),
    minrelaytxfee: amount(1000n),
    incrementalrelayfee: amount(1000n),
    unbroadcastcount: waiting.length,
    fullrbf: false,
  };
};

function placeView(chain: EmulatedChain, { block, active }: MinedTransaction): ReplyObject {
  if (!active) return { blockhash: block.hash, confirmations: 0 };
  return {
    blockhash: block.hash,
    confirmations: chain.tip.height - block.height + 1,
    time: block.timeSeconds,
    blocktime: block.timeSeconds,
  };
}

function inBlock(chain: EmulatedChain, txid: string, blockHash: string): MinedTransaction | null {
  const block = chain.tree.get(blockHash);
  if (block === null) throw new RpcError('invalidAddressOrKey', 'Block hash not found');
  const transaction = block.transactions.find((candidate) => candidate.txid === txid);
  return transaction === undefined ? null : { transaction, block, active: chain.tree.isActive(block) };
}

function blockOf(chain: EmulatedChain, txid: string): Block {
  const mined = chain.tree.find(txid);
  if (mined === null) throw new RpcError('invalidAddressOrKey', 'Transaction not yet in block');
  return mined.block;
}

function decoded(proof: string): ReturnType<typeof decodeMerkleBlock> {
  try {
    return decodeMerkleBlock(Buffer.from(decodeHex(proof)));
  } catch {
    throw new RpcError('deserialization', 'CDataStream::read(): end of data: unspecified iostream_category error');
  }
}

function duplicateOf(txids: readonly string[]): string {
  return txids.find((txid, index) => txids.indexOf(txid) < index) ?? '';
}
