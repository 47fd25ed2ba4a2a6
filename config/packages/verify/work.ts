/** `@holdfast/verify/work`: the work of the header in a record, and its place in a run of headers from a checkpoint on. */
export { CHAIN_PROFILES, type ChainProfile } from '../../../src/verify/chain-profile.ts';
export { VerifyError, type VerifyErrorCode } from '../../../src/verify/errors.ts';
export {
  type Checkpoint,
  checkHeaderRun,
  type HeaderRun,
  type HeaderRunRules,
  parseCheckpoint,
  parseHeaderLines,
} from '../../../src/verify/header-run.ts';
export {
  judgeRun,
  judgeWork,
  type ProofLevel,
  type RunVerdict,
  reachedLevel,
  reachesLevel,
  type WorkVerdict,
} from '../../../src/verify/proof-level.ts';
