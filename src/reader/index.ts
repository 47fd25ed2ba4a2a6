export {
  type ArchiveReader,
  type ArchiveReaderOptions,
  createArchiveReader,
  type ProofOptions,
  type ReadOptions,
  type SourceState,
} from './archive-reader.ts';
export type { FetchFunction } from './bounded-fetch.ts';
export { ReaderError, type ReaderErrorCode, type SourceAnswer, type SourceOutcome } from './errors.ts';
export type { BlobRecord } from './holdfast-source.ts';
export { type ArchiveReceipt, type CollectedReceipts, collectReceipts, type ReceiptOptions } from './receipts.ts';
export { SOURCE_KINDS, type SourceKind, type SourceOptions } from './source.ts';
