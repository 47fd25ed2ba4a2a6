import type { BlockHash, ContentName, NamedHash, TxId, VersionHash } from '../core/blob/ids.ts';
import type { HeaderMembers } from '../node/chain-node.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import type { LeftOut, Withheld } from './archive-view.ts';

/** Reason why the chain cannot be asked now. None of them means that a thing is absent, or not final. */
export type ChainUnavailableReason =
  /** The walk has not begun, or began above what was asked for. */
  | 'not-walked'
  /** The node has blocks that the walk has not, or does not answer, or went back in time. */
  | 'walk-behind'
  /** The node fails when it is asked what is final. */
  | 'finality-unknown'
  /** Some configured node was not asked yet whether it follows the walked branch. */
  | 'not-compared'
  | 'rebuilding'
  /** Nodes that are asked name different blocks at one height. */
  | 'conflict'
  /** Known, and not yet on as many backends as are required. */
  | 'not-placed'
  /** In a block that is not final yet. */
  | 'not-final'
  | 'store-fault';

export interface ChainUnavailable {
  readonly kind: 'unavailable';
  readonly reason: ChainUnavailableReason;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** One output on the branch that was walked. */
export interface MinedOccurrence extends ContentName {
  readonly txid: TxId;
  readonly vout: number;
  readonly height: number;
  readonly blockHash: BlockHash;
  /** Mediantime of its block. */
  readonly medianTimeSeconds: number;
  readonly final: boolean;
  /** Final by a real ChainLock: never for mere depth. */
  readonly chainLocked: boolean;
}

export interface WalkedBlockFacts {
  readonly height: number;
  readonly hash: BlockHash;
  readonly previousHash: BlockHash;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  readonly final: boolean;
  readonly occurrences: readonly MinedOccurrence[];
}

/** A blob of the current window, as a node would list it. */
export interface WindowEntry extends ContentName {
  readonly sizeBytes: number;
  readonly medianTimeSeconds: number;
  readonly txid: TxId | null;
}

export interface BlockPlace {
  readonly height: number;
  readonly hash: BlockHash;
}

export interface WalkedTip extends BlockPlace {
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
}

type Found<T> = { readonly kind: 'found' } & T;
interface Absent {
  readonly kind: 'absent';
}

export type TransactionLookup = Found<{ readonly occurrence: MinedOccurrence }> | Absent | ChainUnavailable;
export type BlockLookup = Found<{ readonly block: WalkedBlockFacts }> | Absent | ChainUnavailable;
export type ProofLookup =
  | Found<{ readonly records: readonly OccurrenceRecord[] }>
  | Absent
  | Withheld
  | LeftOut
  | ChainUnavailable;
export type SafetyAnswer = { readonly kind: 'told'; readonly safe: readonly boolean[] } | ChainUnavailable;
export type LastBlock = Found<{ readonly block: BlockPlace }> | ChainUnavailable;
export type TipLookup = Found<{ readonly tip: WalkedTip }> | ChainUnavailable;
export type LockLookup = Found<{ readonly block: BlockPlace }> | Absent;
export type PlaceLookup = Found<{ readonly newest: MinedOccurrence }> | Absent | ChainUnavailable;
export type WindowLookup = Found<{ readonly entries: readonly WindowEntry[] }> | ChainUnavailable;

/** Queries of the room `http` to the walked chain. */
export interface ChainView {
  /** `absent`: no block from the start height on holds such a transaction with a blob. */
  transaction(txid: TxId): TransactionLookup;
  /**
   * The same; before it says `absent`, the list of every configured node is read, for a transaction that no block has yet.
   * `isListRead`: the list of the followed node was read for this very question.
   */
  transactionAsked(txid: TxId, isListRead: boolean, signal: AbortSignal): Promise<TransactionLookup>;
  /** A hash of a block below the walk is `absent` as well. */
  block(at: number | BlockHash): BlockLookup;
  /** The same; before it says `absent` of a hash, a node is asked whether the block is below the walk. */
  blockAsked(at: number | BlockHash, signal: AbortSignal): Promise<BlockLookup>;
  /** The first sixteen final occurrences that prove themselves. `absent`: the catalog does not know the content. */
  proofs(name: NamedHash, signal: AbortSignal): Promise<ProofLookup>;
  /** For each hash: stored and final? Told only while no `false` can be wrong; all `true` is told whatever goes on. */
  storedAndFinal(hashes: readonly VersionHash[]): SafetyAnswer;
  /** The highest final block up to which every occurrence is accounted for. */
  lastBlock(): LastBlock;
  /** The walked tip, while the walk is current. */
  tip(): TipLookup;
  /** Members of a block's header that only the node knows. null: no node answers now. */
  headerMembers(hash: BlockHash, signal: AbortSignal): Promise<HeaderMembers | null>;
  chainLock(): LockLookup;
  /** Latest occurrence of the content. `absent`: in no block, while the walk is current. */
  newestOccurrence(name: ContentName): PlaceLookup;
  /** Contents that a node lists now and that can be served, oldest first. */
  window(): WindowLookup;
}
