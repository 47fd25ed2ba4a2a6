/// <reference types="node" preserve="true" />
// The import comes first: the modules after it fail on an older Node.
import '../require-node.ts';

export type { BlobCache, CacheEntry, CacheStats } from './chain/blob-cache.ts';
export type { Block, BlockFacts } from './chain/block.ts';
export type { BlockTree, MinedTransaction } from './chain/block-tree.ts';
export type { ChainLock, ChainLockPolicy, ChainLocks } from './chain/chain-locks.ts';
export type { Content, ContentSource } from './chain/content.ts';
export type { EmulatedChain, MineOrder, Network, Submission, Submitted } from './chain/emulated-chain.ts';
export type { Mempool, Selection } from './chain/mempool.ts';
export { RECORDED_BLOBS } from './chain/recorded-blobs.ts';
export type { Transaction, TransactionInput, TransactionOutput } from './chain/transaction.ts';
export type { Coin, CoinOrigin, CoinSource, FundingRequest, Payload, Wallet } from './chain/wallet.ts';
export { createDevnode, type Devnode, type SubmittedBlob } from './devnode.ts';
export type { DevnodeOptions } from './devnode-options.ts';
export { DevnodeError, type DevnodeErrorCode } from './errors.ts';
export type { Fault, FaultRule } from './faults/fault.ts';
export type { FaultBoard, FaultHandle } from './faults/fault-board.ts';
export type { Allocation, Asset, AssetLedger, Holding, SendProblem } from './ledger/asset-ledger.ts';
export type { Clock } from './node-state.ts';
export type { RpcCall } from './rpc/envelope.ts';
export type { WireNumber, WireObject, WireValue } from './rpc/wire-value.ts';
export { mixedWorkload, type WorkItem, type Workload } from './workload.ts';
