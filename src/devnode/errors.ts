import { HoldfastError } from '../core/blob/errors.ts';

export type DevnodeErrorCode =
  | 'devnode/listen'
  | 'devnode/other-chain'
  | 'devnode/journal'
  | 'devnode/no-coins'
  | 'devnode/unknown-transaction'
  | 'devnode/too-deep';

/** An operation on the devnode that it refuses. RPC clients get the node's own errors instead. */
export class DevnodeError extends HoldfastError<DevnodeErrorCode> {}
