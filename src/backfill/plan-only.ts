import type { MissingContent } from '../catalog/missing-contents.ts';
import type { BackfillEvent, NotFetched, SourceAnswered } from './backfill-report.ts';
import { forEachConcurrent } from './for-each-concurrent.ts';
import type { MissingInRange } from './missing-in-range.ts';
import type { VerifiedSource } from './verified-source.ts';

export interface PlanOutcome {
  /** Contents that a source claims to have. */
  readonly fetched: number;
  /** Known sizes only. */
  readonly fetchedBytes: number;
  readonly missing: readonly NotFetched[];
  readonly missingCount: number;
  /** Contents that no source claims to have, and that a rule left out. */
  readonly leftOutCount: number;
  readonly unasked: readonly NotFetched[];
  readonly unaskedCount: number;
}

const MAX_LISTED = 1_000;

/**
 * Estimates a run from the sources' own claims: each content counts for the first source in order that claims to have
 * it. Content without a claimed source is counted as unavailable. Nothing is fetched or verified.
 */
export async function planOnly(
  range: MissingInRange,
  sources: readonly VerifiedSource[],
  requests: number,
  report: (event: BackfillEvent) => void,
  signal: AbortSignal,
): Promise<PlanOutcome> {
  const missing: NotFetched[] = [];
  const unasked: NotFetched[] = [];
  const count = { fetched: 0, fetchedBytes: 0, missing: 0, leftOut: 0, unasked: 0 };
  const one = async (content: MissingContent, ending: AbortSignal) => {
    const { hashType, versionHash, height, txid } = content;
    const name = { hashType, versionHash };
    const answers: NotFetched['answers'][number][] = [];
    for (const verifiedSource of sources) {
      const source = verifiedSource.name;
      const told = await verifiedSource.size(name, ending);
      if (typeof told === 'number' || told === 'unknown') {
        const known = told === 'unknown' ? null : told;
        count.fetched += 1;
        count.fetchedBytes += known ?? 0;
        report({ event: 'would-fetch', ...name, height, source, sizeBytes: known });
        return;
      }
      answers.push({ source, ...answerOf(told) });
    }
    const notFetched: NotFetched = { ...name, height, txid, answers };
    const isUnasked = answers.some(({ answered }) => answered === 'no-answer');
    if (!isUnasked && content.isLeftOut) {
      count.leftOut += 1;
      return;
    }
    const list = isUnasked ? unasked : missing;
    if (list.length < MAX_LISTED) list.push(notFetched);
    count[isUnasked ? 'unasked' : 'missing'] += 1;
    report({ event: isUnasked ? 'unasked' : 'missing', ...notFetched });
  };
  await forEachConcurrent(range.all(signal), requests, one, signal);
  const { fetched, fetchedBytes, missing: missingCount, leftOut: leftOutCount, unasked: unaskedCount } = count;
  return { fetched, fetchedBytes, missing, missingCount, leftOutCount, unasked, unaskedCount };
}

function answerOf(told: 'untold' | 'withheld' | 'no-answer' | null): Omit<SourceAnswered, 'source'> {
  if (told === null) return { answered: 'absent', why: null };
  if (told === 'withheld') return { answered: 'withheld', why: null };
  const why = 'It does not say what it has without being asked for the bytes.';
  return { answered: 'no-answer', why: told === 'untold' ? why : null };
}
