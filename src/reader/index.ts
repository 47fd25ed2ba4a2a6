export {
  type ArchiveReader,
  type ArchiveReaderOptions,
  createArchiveReader,
  type ProofOptions,
  type ReadOptions,
  type SourceState,
} from './archive-reader.ts';
export { ReaderError, type ReaderErrorCode, type SourceAnswer, type SourceOutcome } from './errors.ts';
export type { BlobRecord } from './holdfast-source.ts';
export type { SourceKind, SourceOptions } from './source.ts';
