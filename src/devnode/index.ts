/// <reference types="node" preserve="true" />
// The import comes first: the modules after it fail on an older Node.
import '../require-node.ts';

export type { CacheEntry } from './chain/blob-cache.ts';
export type { Block } from './chain/block.ts';
export type { ChainLockPolicy } from './chain/chain-locks.ts';
export type { Content } from './chain/content.ts';
export type { EmulatedChain, Network } from './chain/emulated-chain.ts';
export type { Selection } from './chain/mempool.ts';
export { RECORDED_BLOBS } from './chain/recorded-blobs.ts';
export type { Transaction } from './chain/transaction.ts';
export { createDevnode, type Devnode, type SubmittedBlob } from './devnode.ts';
export type { DevnodeOptions } from './devnode-options.ts';
export { DevnodeError, type DevnodeErrorCode } from './errors.ts';
export type { Fault, FaultRule } from './faults/fault.ts';
export type { FaultBoard, FaultHandle } from './faults/fault-board.ts';
export type { Asset, AssetLedger, Holding } from './ledger/asset-ledger.ts';
export type { Clock } from './node-state.ts';
export { mixedWorkload, type WorkItem, type Workload } from './workload.ts';
