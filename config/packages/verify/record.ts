/** `@holdfast/verify/record`: a proven blob against its occurrence record: output, transaction, Merkle proof, header. */
export { decodeOccurrenceRecord, parseOccurrenceRecord } from '../../../src/verify/decode-occurrence-record.ts';
export { VerifyError, type VerifyErrorCode } from '../../../src/verify/errors.ts';
export type { OccurrenceRecord } from '../../../src/verify/occurrence-record.ts';
export {
  type OccurrenceVerdict,
  type ProofStep,
  type StepOutcome,
  verifyBlobOccurrence,
} from '../../../src/verify/verify-occurrence.ts';
