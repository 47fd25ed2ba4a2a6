import type { TxId } from '../core/blob/ids.ts';
import type { Senders } from '../core/blob/sender.ts';
import type { BlockRow } from './block-table.ts';
import type { OccurrenceRow, PlacedOccurrence } from './occurrence-table.ts';

/** A block that was parsed and proven, ready to be recorded. */
export interface WalkedBlock extends BlockRow {
  readonly occurrences: readonly WalkedOccurrence[];
  readonly unclear: readonly { readonly transactionIndex: number; readonly txid: TxId; readonly candidates: number }[];
}

export interface WalkedOccurrence extends Omit<OccurrenceRow, 'height'> {
  /** Scripts of the outputs that its transaction spends. Default: null, they are unknown. */
  readonly senders?: Senders;
  /** Makes its occurrence record, without the size, on demand: most resubmissions need none. */
  readonly makeRecord: () => string;
}

/** Result of taking back blocks in a reorganisation. */
export interface TakenBack {
  readonly blocks: number;
  readonly occurrences: number;
  /** Occurrences that the rule of finality covered, though a conflict of nodes may have held finality back. */
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
