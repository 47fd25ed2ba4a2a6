import type { Dialect } from '../node/method-table.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import type { Network } from './chain/emulated-chain.ts';
import type { Clock } from './node-state.ts';
import type { Workload } from './workload.ts';

export interface DevnodeOptions {
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** Port to listen on. Default 0: a free port. */
  readonly port?: number;
  /** User name of the RPC server. Default `devnode`. */
  readonly username?: string;
  /** Password of the RPC server. Default `devnode`. */
  readonly password?: string;
  /** Dialect of the RPC server. Default `syscoin-5`. */
  readonly dialect?: Dialect;
  /** Seed of the whole chain, genesis block included. Default `devnode`. */
  readonly seed?: string;
  /** Milliseconds between automatic blocks. Default null: only `mine()` makes blocks. */
  readonly blocksEveryMs?: number | null;
  /** Blobs that arrive with each automatic block. Default: a mixture of sizes and hash types; null: none. */
  readonly workload?: Workload | null;
  /** Folder for the chain and submitted bytes, which survive `kill -9`. Default null: in memory. */
  readonly dataDir?: string | null;
  /** true: a new chain begins with the 22 contents of the recorded chain. */
  readonly seedRecordedBlobs?: boolean;
  /** true: one call at a time; a get takes 60 ms by version hash and 30 ms by txid, as measured on the real node. */
  readonly costModel?: boolean;
  /** Whether `getrawtransaction` finds mined transactions by txid alone, as with `-txindex`. Default true. */
  readonly transactionIndex?: boolean;
  /** Whether blocks have undo data, out of which calls tell what transactions spend. Default true; a pruned node has none. */
  readonly undoData?: boolean;
  /** Clock of the node. Default: the system's. `advanceSeconds` adds to it. */
  readonly clock?: Clock;
  /** Rule that prunes the cache: on ChainLocks (`main`, default) or at every block (`test`). */
  readonly network?: Network;
  /** Source of ChainLocks. Default: `follow` with a lag of 1 on `main`, none on `test`. */
  readonly chainLocks?: ChainLockPolicy;
  /** Blocks above the genesis block of a new chain. Below 101 the wallet has no mature coin. Default 120. */
  readonly initialBlocks?: number;
  /** Names of the loaded wallets. Default `['w']`. */
  readonly wallets?: readonly string[];
  /** Port of the admin routes on the same host (0: a free port). Default null: none. */
  readonly adminPort?: number | null;
  /** Milliseconds after which an idle connection closes. Default 30,000, as on the real node. */
  readonly keepAliveMs?: number;
  /** Bytes of memory for prepared answers of recent blobs. Default 64 MiB. */
  readonly hexCacheBytes?: number;
}
