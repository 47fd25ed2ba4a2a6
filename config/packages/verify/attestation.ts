/** `@holdfast/verify/attestation`: signed statements of what an archive holds. */
export {
  type Attestation,
  type AttestationStep,
  checkAttestation,
  type Equivocation,
  equivocationOf,
  keysOf,
  parseAttestation,
} from '../../../src/verify/attestation.ts';
export { VerifyError, type VerifyErrorCode } from '../../../src/verify/errors.ts';
