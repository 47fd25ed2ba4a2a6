import type { ContentName, TxId } from '../core/blob/ids.ts';

/** The source was asked, and gave nothing that counts. */
export type EmptyAnswer = 'absent' | 'withheld' | 'wrong-bytes';

export interface SourceAnswered {
  readonly source: string;
  readonly answered: EmptyAnswer | 'no-answer';
  /** Reason of `no-answer`. */
  readonly why: string | null;
}

/** Content that no source gave. */
export interface NotFetched extends ContentName {
  readonly height: number;
  readonly txid: TxId;
  readonly answers: readonly SourceAnswered[];
}

/** Result of one source. */
export interface SourceTally {
  readonly source: string;
  readonly gave: number;
  readonly gaveBytes: number;
  readonly absent: number;
  readonly withheld: number;
  /** Gave bytes that are not what they were asked for, twice. */
  readonly wrongBytes: number;
  /** Blobs for which it did not answer in the end. */
  readonly noAnswer: number;
  readonly lastFault: string | null;
}

export interface BackfillReport {
  readonly dryRun: boolean;
  readonly range: { readonly from: number; readonly to: number };
  /** Contents of the range that were not held when it began. */
  readonly wanted: number;
  /** Missing contents whose window is still open. */
  readonly atRisk: number;
  readonly fetched: number;
  readonly fetchedBytes: number;
  /** Were here, or on a backend, without a row: proven, and not fetched again. */
  readonly foundHere: number;
  /** Came another way meanwhile. */
  readonly cameMeanwhile: number;
  /** Contents that every named source answered not to have; the first ones of a long list. */
  readonly missing: readonly NotFetched[];
  readonly missingCount: number;
  /** Contents that a rule of the operator left out, and that no source gave: they are not missing. */
  readonly leftOutCount: number;
  /** Contents that a source which could not be asked may have; the first ones of a long list. */
  readonly unasked: readonly NotFetched[];
  readonly unaskedCount: number;
  /** Durable here, and not yet on as many backends as are required. */
  readonly notStored: number;
  /** Occurrence records of what is final that are not on every backend yet. */
  readonly recordsWaiting: number;
  /** Documents of evidence that some place with names has still to get. */
  readonly evidenceWaiting: number;
  /** Recorded as lost by this run: everybody who is configured answered as well. */
  readonly recordedLost: number;
  readonly sources: readonly SourceTally[];
}

/** Progress of a backfill. Sizes are bytes; heights are block heights. */
export type BackfillEvent =
  | { readonly event: 'walking'; readonly height: number; readonly target: number }
  | {
      readonly event: 'planned';
      readonly from: number;
      readonly to: number;
      readonly wanted: number;
      readonly atRisk: number;
    }
  | ({ readonly event: 'progress' } & BackfillProgress)
  | ({
      readonly event: 'fetched';
      readonly height: number;
      readonly source: string;
      readonly sizeBytes: number;
    } & ContentName)
  | ({
      readonly event: 'would-fetch';
      readonly height: number;
      readonly source: string;
      readonly sizeBytes: number | null;
    } & ContentName)
  | ({ readonly event: 'wrong-bytes'; readonly source: string } & ContentName)
  | { readonly event: 'fault'; readonly source: string; readonly message: string }
  | ({ readonly event: 'missing' } & NotFetched)
  | ({ readonly event: 'unasked' } & NotFetched)
  | { readonly event: 'placing'; readonly notStored: number; readonly recordsWaiting: number };

export interface BackfillProgress {
  /** Contents of `wanted` that were fetched, found, or asked for in vain. */
  readonly done: number;
  readonly wanted: number;
  readonly fetched: number;
  readonly fetchedBytes: number;
  readonly missing: number;
  readonly unasked: number;
  /** Still to be fetched before the node may prune them. */
  readonly atRisk: number;
}

/** 1: something could not be asked, or is not where it is to be; 3: all were asked, and something is nowhere. */
export function exitCodeOf(report: Omit<BackfillReport, 'sources'>): 0 | 1 | 3 {
  const { unaskedCount, notStored, recordsWaiting, evidenceWaiting } = report;
  if (unaskedCount + notStored + recordsWaiting + evidenceWaiting > 0) return 1;
  return report.missingCount > 0 ? 3 : 0;
}
