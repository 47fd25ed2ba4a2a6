import { setImmediate as breathe } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import { AFTER_ALL_SECONDS, type SpooledContent } from '../catalog/content-table.ts';
import type { MissingContent, MissingRange } from '../catalog/missing-contents.ts';
import type { ChainPlace } from '../catalog/occurrence-table.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { HeightRange } from '../core/height-range.ts';

interface RangeCatalog {
  readonly chain: Pick<Catalog['chain'], 'state'>;
  readonly answers: Pick<Catalog['answers'], 'lowestHeightSince'>;
  readonly missing: Pick<Catalog['missing'], 'page' | 'count'>;
  readonly leftOut: Pick<Catalog['leftOut'], 'has'>;
  nowMs(): number;
}

export interface PendingContent extends MissingContent {
  /** Read from the catalog whenever it is asked: sources may answer long after the content was found missing. */
  readonly isLeftOut: boolean;
  /** The window of the content is still open, within the range. What a rule left out is never at risk. */
  readonly isAtRisk: boolean;
  /** The row of the content once it is here. */
  readonly row: Omit<SpooledContent, 'sizeBytes'>;
}

const PAGE = 256;
/** Blocks that are looked through in one go, though nothing is missing there: everybody else is served between. */
const SLICE_BLOCKS = 500;

/**
 * Content on chain in a range that is not held, each once: first the content that the node may prune next, then
 * history.
 */
export class MissingInRange {
  readonly #catalog: RangeCatalog;
  readonly #window: MissingRange | null;
  readonly #history: MissingRange | null;

  constructor({ from, to }: HeightRange, catalog: RangeCatalog) {
    this.#catalog = catalog;
    const { tip } = catalog.chain.state;
    const bound = (tip?.medianTimeSeconds ?? 0) - RETENTION_SECONDS;
    // null: all that was walked is younger.
    const lowest = tip === null ? to + 1 : (catalog.answers.lowestHeightSince(tip.height, bound) ?? from);
    const since = Math.min(Math.max(lowest, from), to + 1);
    this.#window = since > to ? null : { from: since, to, elsewhere: null };
    this.#history = since <= from ? null : { from, to: since - 1, elsewhere: since > to ? null : { from: since, to } };
  }

  async count(signal: AbortSignal): Promise<{ readonly wanted: number; readonly atRisk: number }> {
    const window = await this.#countIn(this.#window, signal);
    const history = await this.#countIn(this.#history, signal);
    return { wanted: window.all + history.all, atRisk: window.all - window.leftOut };
  }

  /** Reads rows when they are needed: content that was fetched meanwhile is left out. */
  async *all(signal: AbortSignal): AsyncGenerator<PendingContent> {
    for (const range of [this.#window, this.#history]) {
      if (range === null) continue;
      for (let from = range.from; from <= range.to; from += SLICE_BLOCKS) {
        for (const content of this.#slice(range, from, Math.min(range.to, from + SLICE_BLOCKS - 1), signal))
          yield this.#wanted(content);
        await breathe();
      }
    }
  }

  #wanted(content: MissingContent): PendingContent {
    const { hashType, versionHash, txid, medianTimeSeconds, height } = content;
    const isInWindow = this.#window !== null && height >= this.#window.from;
    const row = { hashType, versionHash, txid, firstSeenMs: this.#catalog.nowMs() };
    // The window is over: the content is not late, and no content with a deadline waits for it.
    const due = isInWindow
      ? { medianTimeSeconds }
      : { medianTimeSeconds: null, dueSeconds: AFTER_ALL_SECONDS + height };
    const { leftOut } = this.#catalog;
    return {
      ...content,
      get isLeftOut() {
        return leftOut.has(versionHash);
      },
      isAtRisk: isInWindow && !content.isLeftOut,
      row: { ...row, ...due },
    };
  }

  *#slice(range: MissingRange, from: number, to: number, signal: AbortSignal): Generator<MissingContent> {
    let after: ChainPlace | undefined = { height: from, transactionIndex: -1 };
    while (after !== undefined) {
      signal.throwIfAborted();
      const page: readonly MissingContent[] = this.#catalog.missing.page(range, after, to, PAGE);
      yield* page;
      after = page.at(-1);
    }
  }

  async #countIn(range: MissingRange | null, signal: AbortSignal) {
    const count = { all: 0, leftOut: 0 };
    if (range === null) return count;
    for (let from = range.from; from <= range.to; from += SLICE_BLOCKS) {
      signal.throwIfAborted();
      const { all, leftOut } = this.#catalog.missing.count(range, from, Math.min(range.to, from + SLICE_BLOCKS - 1));
      count.all += all;
      count.leftOut += leftOut;
      await breathe();
    }
    return count;
  }
}
