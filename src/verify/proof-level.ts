import { isMergeMined, parseHeaderHex } from './block-header.ts';
import { CHAIN_PROFILES, type ChainProfile } from './chain-profile.ts';
import { targetOf } from './compact-target.ts';
import { VerifyError, type VerifyErrorCode } from './errors.ts';
import type { BlobHasher } from './hasher.ts';
import type { HeaderRun } from './header-run.ts';
import { checkHeaderWork, workInWords } from './header-work.ts';
import type { OccurrenceRecord } from './occurrence-record.ts';
import { type OccurrenceVerdict, verifyOccurrence } from './verify-occurrence.ts';

/**
 * Levels of a proof, each including all before it. `inclusion`: a header includes the blob, though any author can make
 * such a header. `work`: making the header costs at least the least work. `chain`: the header is part of a run from a
 * trusted checkpoint.
 */
export const PROOF_LEVELS = ['inclusion', 'work', 'chain'] as const;
export type ProofLevel = (typeof PROOF_LEVELS)[number];

/** The largest number that a hash can be. */
const LARGEST_TARGET = (1n << 256n) - 1n;

export interface WorkVerdict {
  /**
   * `refused`: the work does not hold at all. `too-little`: it holds, and costs less than was asked for. `unbound`: it is
   * enough, and may have been done for another chain.
   */
  readonly kind: 'enough' | 'unbound' | 'too-little' | 'refused';
  /** One sentence. */
  readonly says: string;
  /** Error code; null when the evidence suffices. */
  readonly code: VerifyErrorCode | null;
  /** Average number of hashes to make the header; null when its work does not hold. */
  readonly hashes: bigint | null;
  readonly leastWork: bigint;
}

export interface RunVerdict {
  /** `cannot-tell`: the run does not reach the height of the record. */
  readonly kind: 'contains' | 'does-not-contain' | 'cannot-tell';
  /** One sentence. */
  readonly says: string;
  /** Number of hashes to forge the header and all later ones in the run; null outside the run. */
  readonly hashes: bigint | null;
  /** Hashes per day of the chain at that time; null when the run does not show it. */
  readonly hashesADay: bigint | null;
}

export interface ProofDemand {
  /** Default `inclusion`. */
  readonly level?: ProofLevel;
  /** Rules of the chain. Default: the main network's. */
  readonly profile?: ChainProfile;
  /** Hashes that the header must have cost. Default: what the profile states. */
  readonly leastWork?: bigint;
  /** Evidence for the level `chain`. */
  readonly headers?: HeaderRun;
}

export interface ProofVerdict {
  /** The level that was asked for. */
  readonly level: ProofLevel;
  /** The proof reaches that level. Says nothing about a higher one. */
  readonly verified: boolean;
  /** The highest level that the proof reaches; null: none. */
  readonly reached: ProofLevel | null;
  /** One sentence: what stands in the way of the level, or what holds at it. */
  readonly says: string;
  readonly inclusion: OccurrenceVerdict;
  readonly work: WorkVerdict;
  /** null: no run of headers was given. */
  readonly run: RunVerdict | null;
}

/** Judges a proof at the level that is asked for. Throws nothing on any record that was decoded. */
export function verifyProof(
  bytes: Uint8Array,
  record: OccurrenceRecord,
  demand: ProofDemand = {},
  engines: { readonly hasher?: BlobHasher } = {},
): ProofVerdict {
  const { level = 'inclusion', headers } = demand;
  const inclusion = verifyOccurrence(bytes, record, engines);
  const work = judgeWork(record, demand);
  const run = headers === undefined ? null : judgeRun(record, headers);
  const reached = reachedLevel(inclusion.ok, work, run?.kind === 'contains');
  const verified = reachesLevel(reached, level);
  return { level, verified, reached, says: sayWhy(level, inclusion, work, run), inclusion, work, run };
}

/** The highest level with all before it; null: not even `inclusion`. */
export function reachedLevel(isIncluded: boolean, work: WorkVerdict, isOnChain: boolean): ProofLevel | null {
  if (!isIncluded) return null;
  // Headers from a checkpoint on, or a node, say whose work it is.
  if (isOnChain && (work.kind === 'enough' || work.kind === 'unbound')) return 'chain';
  return work.kind === 'enough' ? 'work' : 'inclusion';
}

export function reachesLevel(reached: ProofLevel | null, level: ProofLevel): boolean {
  return reached !== null && PROOF_LEVELS.indexOf(reached) >= PROOF_LEVELS.indexOf(level);
}

/** Judges the work of the record's header. */
export function judgeWork(
  { header, blockHash }: Pick<OccurrenceRecord, 'header' | 'blockHash'>,
  { profile = CHAIN_PROFILES.main, leastWork = profile.leastWork }: Pick<ProofDemand, 'profile' | 'leastWork'> = {},
): WorkVerdict {
  try {
    const full = parseHeaderHex(header);
    // A header of a practice chain is told as that, and not as a forged one.
    const hashes = checkHeaderWork(full, { ...profile, easiestTarget: LARGEST_TARGET });
    const shown = `Making header ${blockHash} takes ${workInWords(hashes)}`;
    if (targetOf(full.header.bits, LARGEST_TARGET) > profile.easiestTarget) {
      const says = `${shown}; no header of ${profile.name} takes so little.`;
      return { kind: 'too-little', says, code: 'verify/target-too-easy', hashes, leastWork };
    }
    if (hashes < leastWork) {
      const says = `${shown}; at least ${workInWords(leastWork)} is asked for.`;
      return { kind: 'too-little', says, code: 'verify/work-too-little', hashes, leastWork };
    }
    if (profile.isMergeMined && !isMergeMined(full.header)) {
      const says = `${shown}, and may be a header of another chain: those of ${profile.name} are merge-mined.`;
      return { kind: 'unbound', says, code: 'verify/work-unbound', hashes, leastWork };
    }
    return { kind: 'enough', says: `${shown}, by the rules of ${profile.name}.`, code: null, hashes, leastWork };
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error;
    return { kind: 'refused', says: error.message, code: error.code, hashes: null, leastWork };
  }
}

/** Whether a run of headers has the record's block, at the record's height. */
export function judgeRun(
  { blockHash, height }: Pick<OccurrenceRecord, 'blockHash' | 'height'>,
  run: HeaderRun,
): RunVerdict {
  const place = run.placeOf(blockHash);
  const from = `the headers from the checkpoint at height ${run.checkpoint.height}`;
  if (place === null) {
    const { firstHeight, lastHeight } = run;
    if (height < firstHeight || height > lastHeight) {
      const says = `The record's height ${height} is outside of the run, which has the heights ${firstHeight} to ${lastHeight}.`;
      return { kind: 'cannot-tell', says, hashes: null, hashesADay: null };
    }
    const says = `Header ${blockHash} is not among ${from} on.`;
    return { kind: 'does-not-contain', says, hashes: null, hashesADay: null };
  }
  const { workOnTop: hashes, workADay: hashesADay } = place;
  if (place.height !== height) {
    const says = `Header ${blockHash} is at height ${place.height} of the run, the record says ${height}.`;
    return { kind: 'does-not-contain', says, hashes, hashesADay };
  }
  const following = run.lastHeight - height;
  const cost = `Forging it and the ${following} after it takes ${workInWords(hashes)}`;
  const day = hashesADay === null ? '' : `; a day of this chain at that time is ${workInWords(hashesADay)}`;
  const says = `Header ${blockHash} is at height ${height} of ${from} on. ${cost}${day}.`;
  return { kind: 'contains', says, hashes, hashesADay };
}

function sayWhy(level: ProofLevel, inclusion: OccurrenceVerdict, work: WorkVerdict, run: RunVerdict | null): string {
  if (level === 'inclusion' || !inclusion.ok) return inclusion.says;
  if (level === 'work' || work.kind === 'too-little' || work.kind === 'refused') return work.says;
  return run?.says ?? 'No run of headers was given that could show the header to be part of the chain.';
}
