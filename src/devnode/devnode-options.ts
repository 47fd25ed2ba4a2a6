import type { Dialect } from '../node/method-table.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import type { Network } from './chain/emulated-chain.ts';
import type { Clock } from './node-state.ts';
import type { Workload } from './workload.ts';

export interface DevnodeOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default `devnode`. */
  readonly username?: string;
  /** Default `devnode`. */
  readonly password?: string;
  /** Default `syscoin-5`. */
  readonly dialect?: Dialect;
  /** The whole chain follows from it, from the genesis block on. Default `devnode`. */
  readonly seed?: string;
  /** A block by itself every so often. Default null: only `mine()` makes blocks. */
  readonly blocksEveryMs?: number | null;
  /** What arrives with each of those blocks. Default: a mixture; null: nothing. */
  readonly workload?: Workload | null;
  /** The chain and submitted bytes are kept here, also over `kill -9`. Default null: in memory. */
  readonly dataDir?: string | null;
  /** Mines the 22 contents of the recorded chain when the chain is new. */
  readonly seedRecordedBlobs?: boolean;
  /** One lock, 60 ms a get by version hash, 30 ms by txid, as measured on the real node. */
  readonly costModel?: boolean;
  /** Default true. Without one, mined transactions are found by their block alone. */
  readonly transactionIndex?: boolean;
  /** Default: the system's. `advanceSeconds` adds to either. */
  readonly clock?: Clock;
  /** How the cache is pruned: on ChainLocks (`main`, default) or at every block (`test`). */
  readonly network?: Network;
  /** Default: `follow` with a lag of 1 on `main`, none on `test`. */
  readonly chainLocks?: ChainLockPolicy;
  /** Blocks above the genesis block of a new chain; below 101 the wallet has no ripe coin. Default 120. */
  readonly initialBlocks?: number;
  /** Loaded wallets. Default `['w']`. */
  readonly wallets?: readonly string[];
  /** Serves the admin routes on this port of the same host (0: a free one). Default null: none. */
  readonly adminPort?: number | null;
  /** Idle connections are closed after this time. Default 30,000, as on the real node. */
  readonly keepAliveMs?: number;
  /** Prepared answers of recent blobs. Default 64 MiB. */
  readonly hexCacheBytes?: number;
}
