import { setImmediate as breathe } from 'node:timers/promises';
import { RETENTION_SECONDS } from '../../blob/limits.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { MissingContent, MissingRange } from '../../catalog/missing-contents.ts';
import type { ChainPlace } from '../../catalog/occurrence-table.ts';
import type { HeightRange } from '../height-range.ts';

const PAGE = 256;
/** Blocks that are counted in one go: readers are served between. */
const SLICE_BLOCKS = 500;

/** What is on chain in a range and not held: first what the node may prune next, then history, each content once. */
export class MissingInRange {
  readonly #catalog: Catalog;
  readonly #window: MissingRange | null;
  readonly #history: MissingRange | null;

  constructor({ from, to }: HeightRange, catalog: Catalog) {
    this.#catalog = catalog;
    const { tip } = catalog.chain.state;
    const bound = (tip?.medianTimeSeconds ?? 0) - RETENTION_SECONDS;
    // null: all that was walked is younger.
    const lowest = tip === null ? to + 1 : (catalog.answers.lowestHeightSince(tip.height, bound) ?? from);
    const since = Math.min(Math.max(lowest, from), to + 1);
    this.#window = since > to ? null : { from: since, to, elsewhere: null };
    this.#history = since <= from ? null : { from, to: since - 1, elsewhere: since > to ? null : { from: since, to } };
  }

  /** Is its window still open, as far as this range goes? */
  isAtRisk({ height }: MissingContent): boolean {
    return this.#window !== null && height >= this.#window.from;
  }

  async count(signal: AbortSignal): Promise<{ readonly wanted: number; readonly atRisk: number }> {
    const atRisk = await this.#countIn(this.#window, signal);
    return { wanted: atRisk + (await this.#countIn(this.#history, signal)), atRisk };
  }

  /** As it is when it is come to: what was fetched meanwhile is not among them. */
  async *all(signal: AbortSignal): AsyncGenerator<MissingContent> {
    for (const range of [this.#window, this.#history]) {
      if (range === null) continue;
      let after: ChainPlace | null = null;
      for (;;) {
        signal.throwIfAborted();
        const page: MissingContent[] = this.#catalog.missing.page(range, after, PAGE);
        yield* page;
        const last = page.at(-1);
        if (last === undefined) break;
        after = last;
      }
    }
  }

  async #countIn(range: MissingRange | null, signal: AbortSignal): Promise<number> {
    if (range === null) return 0;
    let count = 0;
    for (let from = range.from; from <= range.to; from += SLICE_BLOCKS) {
      signal.throwIfAborted();
      count += this.#catalog.missing.count(range, from, Math.min(range.to, from + SLICE_BLOCKS - 1));
      await breathe();
    }
    return count;
  }
}
