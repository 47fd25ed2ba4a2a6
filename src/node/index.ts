export type { BatchWatch } from './batched-reads.ts';
/** @deprecated The type is called RequestedBlob. This name goes with the next release. */
export type { AnsweredBlob, RequestedBlob, RequestedBlob as WantedBlob } from './blob-answer.ts';
export type { HeaderMembers as ShownHeader, SpentScript } from './chain-node.ts';
export { type ClientOptions, createClient, type NodeClient } from './client.ts';
export type { Decimal } from './decimal.ts';
export { type NodeRelease, versionText } from './dialect-rules.ts';
export type { BasicCredentials } from './endpoint.ts';
export { NodeError, type NodeErrorCode, NodeRpcError, type RpcFacts } from './errors.ts';
export type { Settled } from './exchange.ts';
export { ESTIMATE_MODES, type EstimateMode, type FeeOptions } from './fee.ts';
export type { ListedEntry, ReadablePage } from './list-answer.ts';
export { DIALECTS, type Dialect, METHOD_TABLE, type Operation } from './method-table.ts';
export type { BytesOf, CallOptions, NamedValues, NodeCall } from './node-call.ts';
export * from './operations/asset-allocation-balance.ts';
export * from './operations/asset-allocation-send.ts';
export * from './operations/asset-allocation-send-many.ts';
export * from './operations/asset-info.ts';
export * from './operations/blocks.ts';
export {
  type BestChainLock,
  type BlockchainInfo,
  bestChainLockCall,
  blockchainInfoCall,
  type ChainTip,
  chainTipsCall,
  getBestChainLock,
  getBlockchainInfo,
  getChainTips,
  getNetworkInfo,
  type NetworkInfo,
  type NewBlock,
  networkInfoCall,
  uptime,
  uptimeCall,
  waitForNewBlock,
  waitForNewBlockCall,
} from './operations/chain-info.ts';
export {
  type CreateBlobOptions,
  type CreatedBlob,
  createBlob,
  createBlobCall,
} from './operations/create-blob.ts';
export * from './operations/create-raw-blob.ts';
export * from './operations/get-blob.ts';
export * from './operations/list-blobs.ts';
export * from './operations/transactions.ts';
export { createRawCalls, type RawCalls, type RawReply } from './raw-calls.ts';
export type { RetryPolicy } from './read-retry.ts';
export {
  type BlobNodeOptions,
  type BlobOutcome,
  createBlobNode,
  type NodeTip,
  type RpcBlobNode,
} from './rpc-blob-node.ts';
export type { NodeHeader } from './rpc-chain-calls.ts';
export type { AssetSent, SentAllocation } from './sent-allocations.ts';
export type { SendOptions } from './submission/send-once.ts';
export {
  type DroppedSubmission,
  SUBMISSION_STAGES,
  type Submission,
  type SubmissionProgress,
  type SubmissionStage,
  type SubmitOptions,
  submitBlob,
} from './submission/submit-blob.ts';
export type { NodeTimeouts, TransportOptions } from './transport.ts';
