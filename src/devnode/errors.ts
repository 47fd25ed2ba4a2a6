import { HoldfastError } from '../core/blob/errors.ts';

export type DevnodeErrorCode =
  | 'devnode/listen'
  | 'devnode/other-chain'
  | 'devnode/journal'
  | 'devnode/no-coins'
  | 'devnode/unknown-transaction'
  | 'devnode/too-deep';

/** What the emulated node refuses its own operator; clients get the node's errors instead. */
export class DevnodeError extends HoldfastError<DevnodeErrorCode> {}
