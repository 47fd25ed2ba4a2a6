import { type Block, serialiseBlock } from '../chain/block.ts';
import type { ChainLock } from '../chain/chain-locks.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import { blockView, chainWorkHex, DIFFICULTY, headerView } from './block-view.ts';
import type { Handler } from './node-context.ts';
import type { ReplyObject } from './reply.ts';
import { RpcError } from './rpc-error.ts';

export const getBlockCount: Handler = (_, { chain }) => chain.tip.height;

export const getBestBlockHash: Handler = (_, { chain }) => chain.tip.hash;

export const getBlockHash: Handler = (params, { chain }) => {
  const block = chain.tree.at(params.integer('height', 0));
  if (block === null) throw new RpcError('invalidParameter', 'Block height out of range');
  return block.hash;
};

export const getBlockHeader: Handler = (params, { chain }) => {
  const block = blockNamed(chain, params.hash('blockhash', 'hash'));
  return params.level('verbose', 1) === 0 ? block.header.toString('hex') : headerView(chain, block);
};

export const getBlock: Handler = (params, { chain }) => {
  const block = blockNamed(chain, params.hash('blockhash', 'blockhash'));
  const verbosity = params.level('verbosity', 1);
  return verbosity <= 0 ? serialiseBlock(block).toString('hex') : blockView(chain, block, verbosity);
};

export const getBlockchainInfo: Handler = (_, { chain }) => {
  const { tip } = chain;
  return {
    chain: 'regtest',
    blocks: tip.height,
    headers: tip.height,
    bestblockhash: tip.hash,
    difficulty: DIFFICULTY,
    time: tip.timeSeconds,
    mediantime: tip.medianTimeSeconds,
    verificationprogress: 1,
    initialblockdownload: false,
    chainwork: chainWorkHex(tip),
    size_on_disk: chain.tree.serialisedBytes,
    pruned: false,
    warnings: '',
  };
};

export const getChainTips: Handler = (_, { chain }) => {
  const { tip } = chain;
  const dead = chain.tree.deadTips.map((block) => ({
    height: block.height,
    hash: block.hash,
    branchlen: branchLength(chain, block),
    status: 'invalid',
  }));
  const tips = [{ height: tip.height, hash: tip.hash, branchlen: 0, status: 'active' }, ...dead];
  return tips.sort((a, b) => b.height - a.height);
};

export const getBestChainLock: Handler = (_, { chain }) => {
  const { best } = chain.locks;
  if (best === null) throw new RpcError('internal', 'Unable to find any ChainLock');
  return lockView(chain, best);
};

export const getChainLocks: Handler = (_, { chain }) => {
  const { best } = chain.locks;
  if (best === null) throw new RpcError('internal', 'Unable to find any chainlock');
  return { recent_chainlock: lockView(chain, best), active_chainlock: lockView(chain, best) };
};

/** Answers at the next change of the tip, or with the same tip after the timeout; 0 waits for ever. */
export const waitForNewBlock: Handler = async (params, { chain }, { signal }) => {
  const timeoutMs = params.integer('timeout', 0);
  if (timeoutMs < 0) throw new RpcError('misc', 'Negative timeout');
  await new Promise<void>((resolve) => {
    const timer = timeoutMs === 0 ? undefined : setTimeout(done, timeoutMs);
    function done(): void {
      clearTimeout(timer);
      chain.events.off('tip', done);
      signal.removeEventListener('abort', done);
      resolve();
    }
    chain.events.on('tip', done);
    signal.addEventListener('abort', done);
  });
  return { hash: chain.tip.hash, height: chain.tip.height };
};

function lockView(chain: EmulatedChain, lock: ChainLock): ReplyObject {
  return {
    blockhash: lock.blockHash,
    height: lock.height,
    signature: lock.signature,
    known_block: chain.locks.bestBlock !== null,
  };
}

function blockNamed(chain: EmulatedChain, hash: string): Block {
  const block = chain.tree.get(hash);
  if (block === null) throw new RpcError('invalidAddressOrKey', 'Block not found');
  return block;
}

function branchLength(chain: EmulatedChain, tip: Block): number {
  let length = 0;
  for (let block: Block | null = tip; block !== null && !chain.tree.isActive(block); block = block.previous)
    length += 1;
  return length;
}
