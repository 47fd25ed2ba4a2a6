import type { Dialect } from '../../node/method-table.ts';
import type { Content } from '../chain/content.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import type { AssetLedger } from '../ledger/asset-ledger.ts';
import type { NodeState } from '../node-state.ts';
import type { Params } from './params.ts';
import type { Reply } from './reply.ts';

/** The node's state as its operations see it. */
export interface NodeContext {
  readonly dialect: Dialect;
  readonly state: NodeState;
  readonly chain: EmulatedChain;
  readonly assets: AssetLedger;
  readonly wallets: readonly string[];
  readonly hexOf: (content: Content) => Buffer;
  readonly startedAtSeconds: number;
  readonly hasTransactionIndex: boolean;
  readonly hasUndoData: boolean;
  /** Holds the node's lock for this many milliseconds when costs are modelled. */
  readonly spend: (milliseconds: number) => Promise<void>;
}

/** Origin of one call. */
export interface CallSite {
  /** Wallet name in the path `/wallet/<name>`; null for the path `/`. */
  readonly walletName: string | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export type Handler = (params: Params, node: NodeContext, site: CallSite) => Reply | Promise<Reply>;
