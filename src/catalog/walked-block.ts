import type { TxId } from '../core/blob/ids.ts';
import type { BlockRow } from './block-table.ts';
import type { OccurrenceRow, PlacedOccurrence } from './occurrence-table.ts';

/** A block that was parsed and proven, ready to be recorded. */
export interface WalkedBlock extends BlockRow {
  readonly occurrences: readonly WalkedOccurrence[];
  readonly unclear: readonly { readonly transactionIndex: number; readonly txid: TxId; readonly candidates: number }[];
}

export interface WalkedOccurrence extends Omit<OccurrenceRow, 'height'> {
  /** Its occurrence record, lacking the size; made only when asked: most resubmissions need none. */
  readonly makeRecord: () => string;
}

/** What a reorganisation took back. */
export interface TakenBack {
  readonly blocks: number;
  readonly occurrences: number;
  /** Those that the rule of finality covered; nodes in conflict may have kept that from being said. */
  readonly withdrawn: readonly PlacedOccurrence[];
}

export interface WalkState {
  /** null: the walk has not begun. */
  readonly startHeight: number | null;
  /** The lowest block recorded: below the start height where history was walked; the start height before any was. */
  readonly lowestHeight: number | null;
  /** The highest block recorded: the walk's cursor. */
  readonly tip: BlockRow | null;
  /** Everything on our branch up to here is final. */
  readonly finalHeight: number | null;
}
