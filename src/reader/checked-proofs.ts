import type { NamedHash } from '../core/blob/ids.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import { type ProofDemand, type ProofVerdict, reachedLevel, reachesLevel, verifyProof } from '../verify/proof-level.ts';

/** Verdict on an archive's answer to a request for proofs. */
export type CheckedProofs =
  /** Records that reach the requested level. */
  | { readonly kind: 'good'; readonly records: readonly OccurrenceRecord[] }
  /**
   * No record, a malformed record, a record of another blob, a proof that fails, or a header that the chain's rules
   * refuse.
   */
  | { readonly kind: 'lie'; readonly says: string }
  /** The records hold, but none reaches the requested level. */
  | { readonly kind: 'too-little'; readonly says: string };

const NOTHING = 'its records prove nothing';
const NO_BYTES = new Uint8Array();
/** Reasons that the caller's chain parameters or the archive's data can explain. They do not show a lie. */
const UNDECIDED_CODES: readonly string[] = ['verify/chain-id', 'verify/merge-mining-missing'];

/** Checks each record at the requested level. Without bytes, a record is not checked to commit to them. */
export function checkedProofs(
  values: readonly unknown[],
  name: NamedHash,
  bytes: Uint8Array | null,
  demand: ProofDemand,
  hasher: BlobHasher,
): CheckedProofs {
  const good: OccurrenceRecord[] = [];
  let lacking: string | null = null;
  try {
    for (const record of values.map(decodeOccurrenceRecord)) {
      const isOfName =
        record.versionHash === name.versionHash && (name.hashType === null || record.hashType === name.hashType);
      const verdict = verifyProof(bytes ?? NO_BYTES, record, demand, { hasher });
      const isIncluded = verdict.inclusion.steps.every(({ step, ok }) => ok || (step === 'bytes' && bytes === null));
      if (!isOfName || !isIncluded) return { kind: 'lie', says: NOTHING };
      const reached = reachedLevel(isIncluded, verdict.work, verdict.run?.kind === 'contains');
      if (reachesLevel(reached, verdict.level)) good.push(record);
      else if (isRefused(verdict)) return { kind: 'lie', says: `its records do not hold: ${reasonIn(verdict)}` };
      else lacking = reasonIn(verdict);
    }
  } catch (error) {
    if (error instanceof VerifyError) return { kind: 'lie', says: NOTHING };
    throw error;
  }
  if (good.length > 0) return { kind: 'good', records: good };
  if (lacking === null) return { kind: 'lie', says: NOTHING };
  return { kind: 'too-little', says: `its records do not show what was asked for: ${lacking}` };
}

function isRefused({ work, run }: ProofVerdict): boolean {
  const isWorkForged = work.kind === 'refused' && !UNDECIDED_CODES.includes(work.code ?? '');
  return isWorkForged || run?.kind === 'does-not-contain';
}

/** Text of a verdict without its first sentence, which is about the bytes: the caller may not have given any. */
function reasonIn({ level, work, run }: ProofVerdict): string {
  if (level === 'work' || work.kind === 'too-little' || work.kind === 'refused') return work.says;
  return run?.says ?? 'no run of headers was given';
}
