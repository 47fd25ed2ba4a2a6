import { parseBlockHash } from '../../core/blob/ids.ts';
import type { ArchiveView } from '../../view/archive-view.ts';
import type { ChainView, WalkedTip } from '../../view/chain-view.ts';
import type { FacadeDialect } from './blob-calls.ts';
import { RpcError, rpcFault } from './rpc-error.ts';

/** Facts that the archive knows of the chain, in the shapes of a node; what only a node knows is left out. */
export function blockCount(chain: ChainView): number {
  return tipOf(chain).height;
}

export function bestBlockHash(chain: ChainView): string {
  return tipOf(chain).hash;
}

export function blockHash(view: ArchiveView, chain: ChainView, height: number): string {
  const tip = tipOf(chain);
  if (height < 0 || height > tip.height) throw new RpcError('invalidParameter', 'Block height out of range');
  const { genesis } = view.identity();
  if (height === 0 && genesis !== null) return genesis;
  const lookup = chain.block(height);
  if (lookup.kind === 'found') return lookup.block.hash;
  throw lookup.kind === 'unavailable'
    ? rpcFault(lookup.message, lookup.retryAfterSeconds)
    : rpcFault('The branch changed just now', 1);
}

/**
 * A block's header as a node shows it, member by member in the node's order. The branch, its confirmations and its
 * ChainLock are as the walk found them; what only a node knows is left out while no node can be asked.
 */
export async function blockHeader(chain: ChainView, hash: string, signal: AbortSignal): Promise<object> {
  const lookup = await chain.blockAsked(parseBlockHash(hash), signal);
  if (lookup.kind === 'unavailable') throw rpcFault(lookup.message, lookup.retryAfterSeconds);
  if (lookup.kind === 'absent') throw new RpcError('notFound', 'Block not found');
  const { block } = lookup;
  const tip = tipOf(chain);
  const next = chain.block(block.height + 1);
  const lock = chain.chainLock();
  const { version, versionHex, merkleroot, nonce, bits, difficulty, chainwork, nTx } =
    (await chain.headerMembers(block.hash, signal)) ?? {};
  return {
    hash: block.hash,
    confirmations: tip.height - block.height + 1,
    height: block.height,
    version,
    versionHex,
    merkleroot,
    time: block.timeSeconds,
    mediantime: block.medianTimeSeconds,
    nonce,
    bits,
    difficulty,
    chainwork,
    nTx,
    previousblockhash: block.previousHash,
    nextblockhash: next.kind === 'found' ? next.block.hash : undefined,
    chainlock: lock.kind === 'found' && block.height <= lock.block.height,
  };
}

export function bestChainLock(chain: ChainView): object {
  const lock = chain.chainLock();
  // A node says the same whether its network has none or it has not heard one yet.
  if (lock.kind === 'absent') throw new RpcError('internal', 'Unable to find any ChainLock');
  return { blockhash: lock.block.hash, height: lock.block.height, known_block: true };
}

/** The answer of `getchainlocks`: the walk knows one lock, the best; its signature only a node has. */
export function chainLocks(chain: ChainView): object {
  const lock = chain.chainLock();
  if (lock.kind === 'absent') throw new RpcError('internal', 'Unable to find any chainlock');
  const shown = { blockhash: lock.block.hash, height: lock.block.height, known_block: true };
  return { recent_chainlock: shown, active_chainlock: shown };
}

/** The same: as the walk found it, and the tip's members while a node can be asked. Of disk space it says nothing. */
export async function blockchainInfo(view: ArchiveView, chain: ChainView, signal: AbortSignal): Promise<object> {
  const tip = tipOf(chain);
  const { network } = view.identity();
  if (network === null) throw rpcFault('No node has said yet which chain this is', 5);
  const { difficulty, chainwork } = (await chain.headerMembers(tip.hash, signal)) ?? {};
  return {
    chain: network,
    blocks: tip.height,
    headers: tip.height,
    bestblockhash: tip.hash,
    difficulty,
    time: tip.timeSeconds,
    mediantime: tip.medianTimeSeconds,
    verificationprogress: 1,
    initialblockdownload: false,
    chainwork,
    pruned: false,
    warnings: '',
  };
}

/** The number by which clients tell releases apart. The specification names none: 4.4 is the first that fits it. */
const RELEASES: Readonly<Record<FacadeDialect, number>> = { svc: 40_400, 'syscoin-4.4': 40_401, 'syscoin-5': 50_101 };

export function networkInfo(view: ArchiveView, dialect: FacadeDialect): object {
  return {
    version: RELEASES[dialect],
    subversion: `/holdfast:${view.identity().version}/`,
    protocolversion: 70_017,
    localservices: '0000000000000000',
    localservicesnames: [],
    localrelay: false,
    timeoffset: 0,
    networkactive: true,
    connections: 0,
    connections_in: 0,
    connections_out: 0,
    networks: [],
    localaddresses: [],
    warnings: '',
  };
}

function tipOf(chain: ChainView): WalkedTip {
  const lookup = chain.tip();
  if (lookup.kind === 'unavailable') throw rpcFault(lookup.message, lookup.retryAfterSeconds);
  return lookup.tip;
}
