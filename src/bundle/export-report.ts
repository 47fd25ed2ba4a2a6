import type { ContentName } from '../core/blob/ids.ts';
import type { HoldingCounts } from '../verify/inventory.ts';

/** A blob of the range that the bundle has not got. */
export interface NotExported extends ContentName {
  readonly height: number;
  /** `missing`: final on the chain, and not stored here. `lost`: recorded as lost. */
  readonly holding: 'missing' | 'lost';
}

export interface ExportReport {
  readonly file: string;
  readonly sizeBytes: number;
  /** CID of the manifest. */
  readonly root: string;
  readonly chain: string;
  readonly from: number;
  readonly to: number;
  /** Digest of the inventory of the range, as `GET /v1/inventory` answers it. */
  readonly inventory: string;
  /** Final occurrences in the range by state. */
  readonly counts: HoldingCounts;
  readonly blobs: number;
  readonly blobBytes: number;
  readonly records: number;
  /** Bytes that an earlier run had written, and that were found to be whole. */
  readonly keptBytes: number;
  readonly notExportedCount: number;
  /** The first ones of a long list. */
  readonly notExported: readonly NotExported[];
}

export type ExportEvent =
  | { readonly event: 'planning'; readonly height: number; readonly to: number }
  | {
      readonly event: 'progress';
      readonly file: string;
      readonly doneBytes: number;
      readonly sizeBytes: number;
      readonly blobs: number;
    }
  | ({ readonly event: 'not-exported' } & NotExported);
