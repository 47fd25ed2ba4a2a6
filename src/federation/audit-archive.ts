import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { BlockHash, ContentName } from '../core/blob/ids.ts';
import { MAX_BLOBS_PER_BLOCK } from '../core/blob/limits.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Occurrence } from '../verify/block-occurrences.ts';
import { decodeOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { heldShareAtLeast } from '../verify/held-share.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import { verifyOccurrence } from '../verify/verify-occurrence.ts';

/** The chain of the auditor: never that of the archive that is audited. */
export interface AuditChain {
  /** null: the branch does not reach so high. */
  blockAt(
    height: number,
    signal: AbortSignal,
  ): Promise<{ readonly hash: BlockHash; readonly occurrences: readonly Pick<Occurrence, DrawnField>[] } | null>;
}

type DrawnField = 'hashType' | 'versionHash' | 'txid' | 'vout';

/** `bytes` hash to the name. The other outcomes are the archive's positive answers; it throws where it gave none. */
export type BlobAnswer =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' | 'withheld' | 'not-archived-by-rule' | 'wrong-bytes' };

export interface AuditedArchive {
  blob(name: ContentName, signal: AbortSignal): Promise<BlobAnswer>;
  /** Occurrence records as they came; null: it has none. */
  proofs(name: ContentName, signal: AbortSignal): Promise<readonly unknown[] | null>;
}

/**
 * `no-proof`: the bytes are right, and no proof of them holds. `withheld` was taken down; `not-archived-by-rule` is what a rule of
 * the archive's operator leaves out; `no-answer` says nothing.
 */
export type SampleOutcome = 'good' | BlobFailure | 'no-proof' | 'no-answer';
type BlobFailure = Exclude<BlobAnswer['kind'], 'bytes'>;

export interface Drawn extends Pick<Occurrence, DrawnField> {
  readonly height: number;
  readonly blockHash: BlockHash;
}

export interface Sample extends Drawn {
  readonly outcome: SampleOutcome;
}

export interface ArchiveAudit {
  readonly range: HeightRange;
  readonly samples: number;
  readonly outcomes: Readonly<Record<SampleOutcome, number>>;
  /** The draws that were not good, in the order in which it was drawn; at most 1,000. */
  readonly failures: readonly Sample[];
  /** Latencies of the answers with bytes, from the question to the last byte. */
  readonly latencyMs: { readonly median: number; readonly p95: number; readonly longest: number } | null;
  readonly confidence: number;
  /** At this confidence at least this share of the final occurrences in the range is held and given. */
  readonly heldAtLeast: number;
}

export interface AuditOptions {
  readonly range: HeightRange;
  readonly samples: number;
  readonly hasher: BlobHasher;
  /** The auditor's block at this height; null: the branch does not reach so high. */
  readonly hashAt: (height: number, signal: AbortSignal) => Promise<BlockHash | null>;
  /** A whole number from 0 to below, each as likely as any other. */
  readonly random: (below: number) => number;
  readonly steadyMs: () => number;
}

export const CONFIDENCE = 0.99;
const MAX_FAILURES = 1_000;
/** A range with few blobs is drawn from in vain so often; there are fewer samples then. */
const DRAWS_A_SAMPLE = 1_024;
/** A catalog answers a draw at once: after so many in a row others have their turn. */
const DRAWS_A_TURN = 32;
/**
 * An answer has at most so many records: of content that is on chain more often, not the one that was drawn may be there. Of
 * those that are, one counts where its block is on the chain, for anybody can write a header.
 */
const MAX_ANSWERED_RECORDS = 16;

/**
 * Draws final occurrences from the chain, each as likely as any other; fewer than were asked for where the range has few. A draw
 * is a height and a place in a block; a place that the block does not fill is drawn again, so that neither blocks with many
 * blobs are favoured, nor those with few.
 */
export async function drawOccurrences(
  chain: AuditChain,
  { range, samples, random }: Pick<AuditOptions, 'range' | 'samples' | 'random'>,
  signal: AbortSignal,
): Promise<Drawn[]> {
  const drawn: Drawn[] = [];
  for (let draw = 0; draw < samples * DRAWS_A_SAMPLE && drawn.length < samples; draw += 1) {
    if (draw % DRAWS_A_TURN === DRAWS_A_TURN - 1) await letOthersWork();
    signal.throwIfAborted();
    const height = range.from + random(range.to - range.from + 1);
    const place = random(MAX_BLOBS_PER_BLOCK);
    const block = await chain.blockAt(height, signal);
    const occurrence = block?.occurrences[place];
    if (block === null || occurrence === undefined) continue;
    const { hashType, versionHash, txid, vout } = occurrence;
    drawn.push({ hashType, versionHash, txid, vout, height, blockHash: block.hash });
  }
  return drawn;
}

/** Asks the archive for bytes and proof of each occurrence that was drawn. */
export async function auditArchive(
  drawn: readonly Drawn[],
  archive: AuditedArchive,
  options: Pick<AuditOptions, 'range' | 'hasher' | 'hashAt' | 'steadyMs'>,
  signal: AbortSignal,
): Promise<ArchiveAudit> {
  const outcomes = {
    ...{ good: 0, absent: 0, withheld: 0, 'not-archived-by-rule': 0 },
    ...{ 'wrong-bytes': 0, 'no-proof': 0, 'no-answer': 0 },
  };
  const failures: Sample[] = [];
  const latencies: number[] = [];
  for (const sample of drawn) {
    const outcome = await outcomeOf(archive, sample, options, latencies, signal);
    outcomes[outcome] += 1;
    if (outcome !== 'good' && failures.length < MAX_FAILURES) failures.push({ ...sample, outcome });
  }
  return {
    range: options.range,
    samples: drawn.length,
    outcomes,
    failures,
    latencyMs: latencyOf(latencies),
    confidence: CONFIDENCE,
    heldAtLeast: heldShareAtLeast(outcomes.good, drawn.length, CONFIDENCE),
  };
}

async function outcomeOf(
  archive: AuditedArchive,
  sample: Drawn,
  { hasher, hashAt, steadyMs }: Pick<AuditOptions, 'hasher' | 'hashAt' | 'steadyMs'>,
  latencies: number[],
  signal: AbortSignal,
): Promise<SampleOutcome> {
  try {
    const askedMs = steadyMs();
    const answer = await archive.blob(sample, signal);
    if (answer.kind !== 'bytes') return answer.kind;
    latencies.push(steadyMs() - askedMs);
    const given = (await archive.proofs(sample, signal)) ?? [];
    const records = given.map((one) => provenIn(one, answer.bytes, hasher)).filter((record) => record !== null);
    if (records.some((record) => isDrawn(record, sample))) return 'good';
    if (given.length < MAX_ANSWERED_RECORDS) return 'no-proof';
    for (const { height, blockHash } of records) {
      // The first are told, so that none of them is above the one that was drawn.
      if (height <= sample.height && (await hashAt(height, signal)) === blockHash) return 'good';
    }
    return 'no-proof';
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RangeError || error instanceof TypeError) throw error;
    return 'no-answer';
  }
}

/** null: what was given is no record, or proves nothing of these bytes. */
function provenIn(given: unknown, bytes: Uint8Array, hasher: BlobHasher): OccurrenceRecord | null {
  try {
    const record = decodeOccurrenceRecord(given);
    return verifyOccurrence(bytes, record, { hasher }).ok ? record : null;
  } catch {
    // An answer that is no record proves nothing.
    return null;
  }
}

function isDrawn(record: OccurrenceRecord, { txid, vout, blockHash }: Drawn): boolean {
  return record.txid === txid && record.vout === vout && record.blockHash === blockHash;
}

function latencyOf(latencies: readonly number[]): ArchiveAudit['latencyMs'] {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return sorted.length === 0 ? null : { median: at(0.5), p95: at(0.95), longest: at(1) };
}
