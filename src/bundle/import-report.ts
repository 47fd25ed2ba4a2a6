import type { ContentName } from '../core/blob/ids.ts';

/** Report of an import. A long list holds its first entries. */
export interface ImportReport {
  /** Blobs that are durable here now and were not before. */
  readonly taken: number;
  readonly takenBytes: number;
  /** Blobs that are not on the walked chain, and that a record shows in a header. */
  readonly byRecord: number;
  /** Blobs that only their file names: neither the chain nor a record shows them yet. */
  readonly notPlacedCount: number;
  readonly notPlaced: readonly ContentName[];
  /** Blobs that were recorded as lost, and are not lost any more. */
  readonly found: number;
  readonly alreadyHeld: number;
  /** Blobs that were taken down here, and were not taken. */
  readonly withheld: number;
  /** Records that prove what they say. */
  readonly records: number;
  /** Documents of an archive that are neither blobs nor records. */
  readonly passedOver: number;
  readonly unusableCount: number;
  readonly unusable: readonly NamedReason[];
  /** Files that could not be read, or whose content has no place here now. */
  readonly faultCount: number;
  readonly faults: readonly NamedReason[];
  /** Taken, or held before, and not on as many backends as are required. */
  readonly notStored: number;
}

export interface NamedReason {
  readonly path: string;
  readonly why: string;
}

export type ImportEvent =
  | ({ readonly event: 'progress'; readonly source: string } & Pick<
      ImportReport,
      'taken' | 'takenBytes' | 'alreadyHeld' | 'unusableCount'
    >)
  | ({ readonly event: 'unusable' | 'fault' } & NamedReason)
  | { readonly event: 'placing'; readonly notStored: number };

/** 1: something could not be read, or is not where it is to be; 3: something is not usable. */
export function exitCodeOf({ faultCount, notStored, unusableCount }: ImportReport): 0 | 1 | 3 {
  if (faultCount + notStored > 0) return 1;
  return unusableCount > 0 ? 3 : 0;
}
