import type { ContentName } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BackfillEvent, BackfillProgress, NotFetched } from './backfill-report.ts';
import type { PendingContent } from './missing-in-range.ts';

const MAX_LISTED = 1_000;
const PROGRESS_MS = 500;

/** Counts what became of each content of a run, and tells how far the run is. */
export class FetchTally {
  readonly #planned: { readonly wanted: number; readonly atRisk: number };
  readonly #report: (event: BackfillEvent) => void;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #missing: NotFetched[] = [];
  readonly #unasked: NotFetched[] = [];
  readonly #count = {
    ...{ fetched: 0, fetchedBytes: 0, foundHere: 0, cameMeanwhile: 0 },
    ...{ missing: 0, leftOut: 0, unasked: 0, saved: 0 },
  };
  #recordedLost = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  /** `planned`: counted before the run began. */
  constructor(
    planned: { readonly wanted: number; readonly atRisk: number },
    report: (event: BackfillEvent) => void,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#planned = planned;
    this.#report = report;
    this.#clock = clock;
  }

  get outcome() {
    const { fetched, fetchedBytes, foundHere, cameMeanwhile } = this.#count;
    return {
      ...{ fetched, fetchedBytes, foundHere, cameMeanwhile, recordedLost: this.#recordedLost },
      missing: this.#missing,
      missingCount: this.#count.missing,
      leftOutCount: this.#count.leftOut,
      unasked: this.#unasked,
      unaskedCount: this.#count.unasked,
    };
  }

  /** No source was asked: the content is held by now, or a place of this archive had it. */
  needsNone(content: PendingContent, why: 'cameMeanwhile' | 'foundHere'): void {
    this.#count[why] += 1;
    this.#settled(content);
  }

  fetched(content: PendingContent, source: string, sizeBytes: number): void {
    const { hashType, versionHash, height } = content;
    this.#count.fetched += 1;
    this.#count.fetchedBytes += sizeBytes;
    this.#report({ event: 'fetched', hashType, versionHash, height, source, sizeBytes });
    this.#settled(content);
  }

  /** Every source answered, and none has the content. */
  missing(content: PendingContent, answers: NotFetched['answers'], isLost: boolean): void {
    this.#count.missing += 1;
    if (isLost) this.#recordedLost += 1;
    this.#notFetched('missing', this.#missing, content, answers);
  }

  /** Every source answered, and none has the content, which a rule left out: it is not missing. */
  leftOut(content: PendingContent): void {
    this.#count.leftOut += 1;
    this.#settled(content);
  }

  /** A source did not answer, and none of the others has the content. */
  unasked(content: PendingContent, answers: NotFetched['answers']): void {
    this.#count.unasked += 1;
    this.#notFetched('unasked', this.#unasked, content, answers);
  }

  #notFetched(
    event: 'missing' | 'unasked',
    listed: NotFetched[],
    content: PendingContent,
    answers: NotFetched['answers'],
  ): void {
    const { height, txid } = content;
    const notFetched: NotFetched = { ...nameOf(content), height, txid, answers };
    if (listed.length < MAX_LISTED) listed.push(notFetched);
    this.#report({ event, ...notFetched });
    this.#settled(content);
  }

  #settled({ isAtRisk }: PendingContent): void {
    if (isAtRisk) this.#count.saved += 1;
    if (this.#clock.steadyMs() - this.#toldMs >= PROGRESS_MS) this.tell();
  }

  tell(): void {
    this.#toldMs = this.#clock.steadyMs();
    const { fetched, fetchedBytes, foundHere, cameMeanwhile, missing, leftOut, unasked, saved } = this.#count;
    const done = fetched + foundHere + cameMeanwhile + missing + leftOut + unasked;
    // Content that came on chain meanwhile is fetched as well.
    const wanted = Math.max(this.#planned.wanted, done);
    const atRisk = Math.max(0, this.#planned.atRisk - saved);
    const progress: BackfillProgress = { done, wanted, fetched, fetchedBytes, missing, unasked, atRisk };
    this.#report({ event: 'progress', ...progress });
  }
}

function nameOf({ hashType, versionHash }: ContentName): ContentName {
  return { hashType, versionHash };
}
