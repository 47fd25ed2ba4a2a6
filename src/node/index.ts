export type { WantedBlob } from './blob-answer.ts';
export type { BasicCredentials } from './endpoint.ts';
export { NodeError, type NodeErrorCode, NodeRpcError } from './errors.ts';
export type { ListedEntry } from './list-answer.ts';
export { type BlobOutcome, createBlobNode, type NodeTip, type RpcBlobNode } from './rpc-blob-node.ts';
export type { NodeTimeouts, TransportOptions } from './transport.ts';
