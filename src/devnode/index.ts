export type { Block } from './chain/block.ts';
export type { ChainLockPolicy } from './chain/chain-locks.ts';
export type { EmulatedChain, Network } from './chain/emulated-chain.ts';
export type { Selection } from './chain/mempool.ts';
export { RECORDED_BLOBS } from './chain/recorded-blobs.ts';
export { createDevnode, type Devnode, type DevnodeOptions, type SubmittedBlob } from './devnode.ts';
export { DevnodeError, type DevnodeErrorCode } from './errors.ts';
export type { Clock } from './node-state.ts';
export { mixedWorkload, type WorkItem, type Workload } from './workload.ts';
