import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import type { MissingContent } from '../catalog/missing-contents.ts';
import { isForLater } from '../core/archive-errors.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import { pause } from '../core/time/run-loop.ts';
import type { Spooler } from '../ingest/spooler.ts';
import { Bandwidth } from '../replication/bandwidth.ts';
import { forgetBytes, type VerifiedBlob } from '../verify/verified-blob.ts';
import type { BackfillEvent, BackfillProgress, NotFetched, SourceAnswered } from './backfill-report.ts';
import { forEachConcurrent } from './for-each-concurrent.ts';
import type { LossRecord } from './loss-record.ts';
import type { MissingInRange } from './missing-in-range.ts';
import type { OwnPlaces } from './own-places.ts';
import type { VerifiedSource } from './verified-source.ts';

export interface FetchOptions {
  /** Blobs under way at a time. */
  readonly requests: number;
  readonly bytesPerSecond: number | null;
  readonly wanted: number;
  readonly atRisk: number;
}

export interface FetchModules {
  readonly catalog: Catalog;
  readonly own: OwnPlaces;
  /** Sources in the order in which they are asked. */
  readonly sources: readonly VerifiedSource[];
  readonly spooler: Pick<Spooler, 'spool'>;
  /** null: not everybody who is configured is asked, so that nothing can be said to be lost. */
  readonly losses: LossRecord | null;
  readonly range: MissingInRange;
  readonly report: (event: BackfillEvent) => void;
  readonly clock: Clock;
}

/** Limits of second attempts for content that a source did not answer for. */
const MAX_AGAIN = 10_000;
const ROUNDS = 3;
const LONGEST_REST_MS = 5_000;
const MAX_LISTED = 1_000;
const PROGRESS_MS = 500;
/** History goes to the backends behind what arrives now: far beyond any median time. */
const AFTER_ALL_SECONDS = 2 ** 40;

interface Asked {
  readonly content: MissingContent;
  /** Answers so far. A source that answered is not asked twice. */
  readonly answers: Map<string, SourceAnswered>;
}

/** Fetches what is missing from the sources in turn, and hands what is proven to the archive's own way to durability. */
export class FetchMissing {
  readonly #options: FetchOptions;
  readonly #modules: FetchModules;
  readonly #bandwidth: Bandwidth;
  readonly #missing: NotFetched[] = [];
  readonly #unasked: NotFetched[] = [];
  #again: Asked[] = [];
  readonly #count = { fetched: 0, fetchedBytes: 0, foundHere: 0, cameMeanwhile: 0, missing: 0, unasked: 0, saved: 0 };
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: FetchOptions, modules: FetchModules) {
    this.#options = options;
    this.#modules = modules;
    this.#bandwidth = new Bandwidth(options.bytesPerSecond, modules.clock);
  }

  get outcome() {
    const { fetched, fetchedBytes, foundHere, cameMeanwhile } = this.#count;
    const recordedLost = this.#modules.losses?.count ?? 0;
    return {
      ...{ fetched, fetchedBytes, foundHere, cameMeanwhile, recordedLost },
      missing: this.#missing,
      missingCount: this.#count.missing,
      unasked: this.#unasked,
      unaskedCount: this.#count.unasked,
    };
  }

  /** Rejects when the signal aborts, and where the catalog fails; what was fetched by then is kept. */
  async run(signal: AbortSignal): Promise<void> {
    const fresh = async function* (all: AsyncIterable<MissingContent>): AsyncGenerator<Asked> {
      for await (const content of all) yield { content, answers: new Map() };
    };
    const round = (items: Iterable<Asked> | AsyncIterable<Asked>, isLast: boolean) =>
      forEachConcurrent(items, this.#options.requests, (asked, ending) => this.#one(asked, isLast, ending), signal);
    await round(fresh(this.#modules.range.all(signal)), false);
    for (let index = 2; index <= ROUNDS && this.#again.length > 0; index += 1) {
      await pause(this.#restMs(), signal);
      signal.throwIfAborted();
      await round(this.#again.splice(0), index === ROUNDS);
    }
    this.#tell(true);
  }

  async #one(asked: Asked, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { content } = asked;
    if (this.#isHeld(content)) {
      this.#count.cameMeanwhile += 1;
      this.#settled(content);
      return;
    }
    const own = await this.#modules.own.find(content, this.#rowOf(content), signal);
    if (own.kind !== 'none') {
      if (own.kind === 'orphan') await this.#keep(own.blob, content, signal);
      this.#count.foundHere += 1;
      this.#settled(content);
      return;
    }
    for (const answer of own.answers) asked.answers.set(answer.source, answer);
    for (const verifiedSource of this.#modules.sources) {
      if ((asked.answers.get(verifiedSource.name)?.answered ?? 'no-answer') !== 'no-answer') continue;
      const answer = await verifiedSource.ask(content, signal);
      if (answer.kind === 'found') {
        const why = await this.#fetched(answer.blob, content, verifiedSource.name, signal);
        if (why === null) return;
        asked.answers.set(verifiedSource.name, { source: verifiedSource.name, answered: 'no-answer', why });
        break;
      }
      const source = verifiedSource.name;
      if (answer.kind === 'empty') asked.answers.set(source, { source, answered: answer.answered, why: null });
      else asked.answers.set(source, { source, answered: 'no-answer', why: answer.why });
    }
    await this.#nobodyGave(asked, isLast, signal);
  }

  /** Gives why there is no place for it now; null: it is kept. */
  async #fetched(blob: VerifiedBlob, content: MissingContent, source: string, signal: AbortSignal) {
    const sizeBytes = blob.bytes.length;
    const { hashType, versionHash, height } = content;
    await this.#bandwidth.take(sizeBytes, signal);
    try {
      await this.#keep(blob, content, signal);
    } catch (error) {
      if (isForLater(error)) return error.message;
      throw error;
    }
    this.#count.fetched += 1;
    this.#count.fetchedBytes += sizeBytes;
    this.#modules.report({ event: 'fetched', hashType, versionHash, height, source, sizeBytes });
    this.#settled(content);
    return null;
  }

  async #keep(blob: VerifiedBlob, content: MissingContent, signal: AbortSignal): Promise<void> {
    try {
      const sizeBytes = blob.bytes.length;
      await this.#modules.spooler.spool(blob, { ...this.#rowOf(content), sizeBytes }, signal);
    } finally {
      forgetBytes(blob);
    }
  }

  async #nobodyGave(asked: Asked, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { content } = asked;
    const answers = [...asked.answers.values()];
    const silent = answers.filter(({ answered }) => answered === 'no-answer');
    if (silent.length > 0 && !isLast && this.#again.length < MAX_AGAIN) {
      this.#again.push(asked);
      return;
    }
    const { hashType, versionHash, height, txid } = content;
    const notFetched: NotFetched = { hashType, versionHash, height, txid, answers };
    if (silent.length > 0) {
      this.#count.unasked += 1;
      if (this.#unasked.length < MAX_LISTED) this.#unasked.push(notFetched);
      for (const verifiedSource of this.#modules.sources)
        if (silent.some(({ source }) => source === verifiedSource.name)) verifiedSource.gaveUp();
    } else {
      await this.#modules.losses?.judge(content, answers, signal);
      this.#count.missing += 1;
      if (this.#missing.length < MAX_LISTED) this.#missing.push(notFetched);
    }
    this.#modules.report({ event: silent.length > 0 ? 'unasked' : 'missing', ...notFetched });
    this.#settled(content);
  }

  #rowOf(content: MissingContent): Omit<SpooledContent, 'sizeBytes'> {
    const { hashType, versionHash, txid, medianTimeSeconds } = content;
    const name = { hashType, versionHash, txid, firstSeenMs: this.#modules.clock.wallMs() };
    // The window is over: the content is not late, and no content with a deadline waits for it.
    if (!this.#modules.range.isAtRisk(content)) {
      return { ...name, medianTimeSeconds: null, dueSeconds: AFTER_ALL_SECONDS + content.height };
    }
    return { ...name, medianTimeSeconds };
  }

  #isHeld({ hashType, versionHash }: ContentName): boolean {
    const found = this.#modules.catalog.find(versionHash);
    return found.some((entry) => entry.hashType === hashType && entry.state !== 'seen');
  }

  #restMs(): number {
    return Math.min(LONGEST_REST_MS, Math.max(0, ...this.#modules.sources.map(({ restMs }) => restMs)));
  }

  #settled(content: MissingContent): void {
    if (this.#modules.range.isAtRisk(content)) this.#count.saved += 1;
    this.#tell(false);
  }

  #tell(isLast: boolean): void {
    const nowMs = this.#modules.clock.steadyMs();
    if (!isLast && nowMs - this.#toldMs < PROGRESS_MS) return;
    this.#toldMs = nowMs;
    const { fetched, fetchedBytes, foundHere, cameMeanwhile, missing, unasked, saved } = this.#count;
    const done = fetched + foundHere + cameMeanwhile + missing + unasked;
    // Content that came on chain meanwhile is fetched as well.
    const wanted = Math.max(this.#options.wanted, done);
    const atRisk = Math.max(0, this.#options.atRisk - saved);
    const progress: BackfillProgress = { done, wanted, fetched, fetchedBytes, missing, unasked, atRisk };
    this.#modules.report({ event: 'progress', ...progress });
  }
}
