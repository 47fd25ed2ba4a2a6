/// <reference types="node" preserve="true" />
/**
 * `holdfast/client`: the operations of a layer-1 node, and reading from archives, for other programs. Needs Node, undici and zod; loads no database,
 * no storage client and no logger.
 */

// First of all: what follows fails on an older Node.
import './require-node.ts';

export { type ErrorFacts, HoldfastError } from './core/blob/errors.ts';
export { decodeHex, encodeHex } from './core/blob/hex.ts';
export {
  type BlockHash,
  type HashType,
  parseBlockHash,
  parseTxId,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from './core/blob/ids.ts';
export { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from './core/blob/limits.ts';
export type { Clock } from './core/time/clock.ts';
export * from './node/index.ts';
export * from './reader/index.ts';
