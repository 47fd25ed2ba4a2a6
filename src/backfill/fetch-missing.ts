import { isForLater } from '../core/archive-errors.ts';
import { pause } from '../core/time/run-loop.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { Bandwidth } from '../replication/bandwidth.ts';
import { forgetBytes, type VerifiedBlob } from '../verify/verified-blob.ts';
import type { SourceAnswered } from './backfill-report.ts';
import type { FetchTally } from './fetch-tally.ts';
import { forEachConcurrent } from './for-each-concurrent.ts';
import type { LossRecord } from './loss-record.ts';
import type { PendingContent } from './missing-in-range.ts';
import type { OwnPlaces } from './own-places.ts';
import type { VerifiedSource } from './verified-source.ts';

export interface FetchModules {
  readonly own: OwnPlaces;
  /** Sources in the order in which they are asked. */
  readonly sources: readonly VerifiedSource[];
  readonly spooler: Pick<Spooler, 'spool'>;
  /** null: not everybody who is configured is asked, so that nothing can be said to be lost. */
  readonly losses: LossRecord | null;
  readonly tally: FetchTally;
  readonly bandwidth: Bandwidth;
}

/** Limits of second attempts for content that a source did not answer for. */
const MAX_AGAIN = 10_000;
const ROUNDS = 3;
const LONGEST_REST_MS = 5_000;
/** Name of the archive's own places in a report. */
const HERE = 'this archive';

interface Asked {
  readonly content: PendingContent;
  /** Answers so far. A source that answered is not asked twice. */
  readonly answers: Map<string, SourceAnswered>;
}

/** Fetches what is missing from the sources in turn, and hands what is proven to the archive's own way to durability. */
export class FetchMissing {
  readonly #modules: FetchModules;
  #again: Asked[] = [];

  constructor(modules: FetchModules) {
    this.#modules = modules;
  }

  /**
   * Rejects when the signal aborts, and where the catalog fails; what was fetched by then is kept.
   * @param requests blobs under way at a time
   */
  async run(contents: AsyncIterable<PendingContent>, requests: number, signal: AbortSignal): Promise<void> {
    const fresh = async function* (): AsyncGenerator<Asked> {
      for await (const content of contents) yield { content, answers: new Map() };
    };
    const round = (items: Iterable<Asked> | AsyncIterable<Asked>, isLast: boolean) =>
      forEachConcurrent(items, requests, (asked, ending) => this.#one(asked, isLast, ending), signal);
    await round(fresh(), false);
    for (let index = 2; index <= ROUNDS && this.#again.length > 0; index += 1) {
      await pause(this.#restMs(), signal);
      signal.throwIfAborted();
      await round(this.#again.splice(0), index === ROUNDS);
    }
    this.#modules.tally.tell();
  }

  async #one(asked: Asked, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { content } = asked;
    const { tally } = this.#modules;
    const own = await this.#modules.own.find(content, content.row, signal);
    if (own.kind === 'held') return tally.needsNone(content, 'cameMeanwhile');
    if (own.kind !== 'none') {
      const why = own.kind === 'orphan' ? await this.#keep(own.blob, content, signal) : null;
      if (why === null) return tally.needsNone(content, 'foundHere');
      asked.answers.set(HERE, { source: HERE, answered: 'no-answer', why });
      return await this.#nobodyGave(asked, isLast, signal);
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
  async #fetched(blob: VerifiedBlob, content: PendingContent, source: string, signal: AbortSignal) {
    const sizeBytes = blob.bytes.length;
    await this.#modules.bandwidth.take(sizeBytes, signal);
    const why = await this.#keep(blob, content, signal);
    if (why === null) this.#modules.tally.fetched(content, source, sizeBytes);
    return why;
  }

  /** Gives why there is no place for it now; null: it is kept. */
  async #keep(blob: VerifiedBlob, { row }: PendingContent, signal: AbortSignal): Promise<string | null> {
    try {
      await this.#modules.spooler.spool(blob, { ...row, sizeBytes: blob.bytes.length }, signal);
      return null;
    } catch (error) {
      if (isForLater(error)) return error.message;
      throw error;
    } finally {
      forgetBytes(blob);
    }
  }

  async #nobodyGave(asked: Asked, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { content } = asked;
    const { sources, losses, tally } = this.#modules;
    const answers = [...asked.answers.values()];
    const silent = answers.filter(({ answered }) => answered === 'no-answer');
    if (silent.length === 0 && content.isLeftOut) return tally.leftOut(content);
    if (silent.length === 0) {
      const isLost = (await losses?.judge(content, answers, signal)) ?? false;
      tally.missing(content, answers, isLost);
      return;
    }
    if (!isLast && this.#again.length < MAX_AGAIN) {
      this.#again.push(asked);
      return;
    }
    for (const one of sources) if (silent.some(({ source }) => source === one.name)) one.gaveUp();
    tally.unasked(content, answers);
  }

  #restMs(): number {
    return Math.min(LONGEST_REST_MS, Math.max(0, ...this.#modules.sources.map(({ restMs }) => restMs)));
  }
}
