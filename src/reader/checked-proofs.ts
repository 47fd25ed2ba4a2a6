import type { NamedHash } from '../core/blob/ids.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import { type ProofDemand, type ProofVerdict, reachedLevel, reachesLevel, verifyProof } from '../verify/proof-level.ts';

/** What an archive's answer to a question for proofs comes to. */
export type CheckedProofs =
  /** Those that reach the level that was asked for. */
  | { readonly kind: 'good'; readonly records: readonly OccurrenceRecord[] }
  /** There is none, or one is no record, is of another blob, does not prove what it says, or is refused by the chain's rules. */
  | { readonly kind: 'lie'; readonly says: string }
  /** True as far as they go, and none goes as far as was asked for. */
  | { readonly kind: 'too-little'; readonly says: string };

const NOTHING = 'its records prove nothing';
const NO_BYTES = new Uint8Array();
/** Reasons that may lie with the chain that the caller named, or with what the archive kept: no lie is shown by them. */
const UNDECIDED_CODES: readonly string[] = ['verify/chain-id', 'verify/merge-mining-missing'];

/** Checks each record at the level that is asked for; without bytes, all of it but that it is of these bytes. */
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

/** The verdict's own sentence begins with the bytes, which may not have been given. */
function reasonIn({ level, work, run }: ProofVerdict): string {
  if (level === 'work' || work.kind === 'too-little' || work.kind === 'refused') return work.says;
  return run?.says ?? 'no run of headers was given';
}
