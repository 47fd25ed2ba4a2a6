import type { Dialect } from '../../node/method-table.ts';
import type { Content } from '../chain/content.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import type { AssetLedger } from '../ledger/asset-ledger.ts';
import type { NodeState } from '../node-state.ts';
import type { Params } from './params.ts';
import type { Reply } from './reply.ts';

/** What the operations know of the node that they answer for. */
export interface NodeContext {
  readonly dialect: Dialect;
  readonly state: NodeState;
  readonly chain: EmulatedChain;
  readonly assets: AssetLedger;
  readonly wallets: readonly string[];
  readonly hexOf: (content: Content) => Buffer;
  readonly startedAtSeconds: number;
  readonly hasTransactionIndex: boolean;
  /** Takes the node's one lock for this long, when costs are modelled. */
  readonly spend: (milliseconds: number) => Promise<void>;
}

/** Where one call came from. */
export interface CallSite {
  /** Name in the path `/wallet/<name>`; null: the path `/`. */
  readonly walletName: string | null;
  /** The client went away. */
  readonly signal: AbortSignal;
}

export type Handler = (params: Params, node: NodeContext, site: CallSite) => Reply | Promise<Reply>;
