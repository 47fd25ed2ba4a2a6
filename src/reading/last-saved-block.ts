import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';

export type LastSaved =
  /** From the start up to this height everything is saved; below the start: nothing is. */
  | { readonly kind: 'saved'; readonly upTo: number }
  /** The block is being searched for, in steps between which other work goes on. */
  | { readonly kind: 'searching' };

interface Remembered {
  readonly upTo: number;
  /** Hash of that block; null when no block is saved. If another block is at its height now, the result is void. */
  readonly hash: BlockHash | null;
  /** The question that it answers; null for a search, whose result also holds for blocks that came on top since. */
  readonly asked: { readonly finalHeight: number; readonly tip: BlockHash } | null;
  readonly atMs: number;
  readonly lastsMs: number;
}

/** Milliseconds for which a search's result is given while the next search runs, and longer where a search takes long. */
const STANDS_MS = 600_000;
/** At most this share of the time goes into it when it takes long. */
const SHARE = 0.05;
const MIN_MS = 500;

/**
 * The highest final block up to which everything is saved. Remembered for a moment, the longer the longer it took; not
 * over a new block or lock, where it is found at once.
 */
export class LastSavedBlock {
  readonly #catalog: Catalog;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Limit of the look-ups in one go; a longer search runs in steps. */
  readonly #maxLookUps: number | undefined;
  #known: Remembered | null = null;
  #search: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(catalog: Catalog, clock: Pick<Clock, 'steadyMs'>, maxLookUps?: number) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#maxLookUps = maxLookUps;
  }

  /** Resolves when no search is under way. */
  async settled(): Promise<void> {
    await this.#search;
  }

  find(startHeight: number, finalHeight: number): LastSaved {
    const known = this.#standing(finalHeight);
    if (known !== null && known.asked !== null) return { kind: 'saved', upTo: known.upTo };
    if (this.#search === null && (known === null || !this.#isFresh(known))) {
      const saved = this.#atOnce(startHeight, finalHeight);
      if (saved !== null) return saved;
      this.#search = this.#searchFor(startHeight, finalHeight);
    }
    return known === null ? { kind: 'searching' } : { kind: 'saved', upTo: Math.min(known.upTo, finalHeight) };
  }

  /** The result that still holds: of a search for as long as the next one takes, else for a moment. */
  #standing(finalHeight: number): Remembered | null {
    const known = this.#known;
    if (known === null) return null;
    const { chain } = this.#catalog;
    if (known.asked === null) {
      const isOurs = known.hash === null || chain.blockAt(known.upTo)?.hash === known.hash;
      // A block below may have lost its copies since. The result can be hours old, because only a question begins a search.
      const isYoung = this.#clock.steadyMs() - known.atMs < Math.max(STANDS_MS, 2 * known.lastsMs);
      return isOurs && isYoung ? known : null;
    }
    const isSame = known.asked.finalHeight === finalHeight && known.asked.tip === chain.state.tip?.hash;
    return isSame && this.#isFresh(known) ? known : null;
  }

  #isFresh({ atMs, lastsMs }: Remembered): boolean {
    return this.#clock.steadyMs() - atMs < lastsMs;
  }

  /** null: it would take too long. */
  #atOnce(startHeight: number, finalHeight: number): LastSaved | null {
    const begun = this.#clock.steadyMs();
    const unsaved = this.#catalog.answers.firstUnsavedHeight(startHeight, this.#maxLookUps);
    if (unsaved === 'too-many') {
      if (this.#failure === null) return null;
      const failure = this.#failure;
      this.#failure = null;
      throw failure;
    }
    const { tip } = this.#catalog.chain.state;
    const upTo = unsaved === null ? finalHeight : Math.min(finalHeight, unsaved - 1);
    const lastsMs = Math.max(MIN_MS, (this.#clock.steadyMs() - begun) / SHARE);
    const asked = { finalHeight, tip: tip?.hash };
    this.#known =
      asked.tip === undefined
        ? null
        : { upTo, hash: null, asked: { finalHeight, tip: asked.tip }, atMs: this.#clock.steadyMs(), lastsMs };
    return { kind: 'saved', upTo };
  }

  async #searchFor(startHeight: number, finalHeight: number): Promise<void> {
    const begun = this.#clock.steadyMs();
    try {
      const found = await this.#lookThrough(startHeight, finalHeight);
      const lastsMs = Math.max(MIN_MS, (this.#clock.steadyMs() - begun) / SHARE);
      if (found !== null) this.#known = { ...found, asked: null, atMs: this.#clock.steadyMs(), lastsMs };
    } catch (error) {
      // The next caller gets the failure.
      this.#failure = error;
    } finally {
      this.#search = null;
    }
  }

  /** At one moment of the catalog. null: it was closed meanwhile. */
  async #lookThrough(
    startHeight: number,
    finalHeight: number,
  ): Promise<{ upTo: number; hash: BlockHash | null } | null> {
    const catalog = this.#catalog;
    const snapshot = catalog.snapshot();
    try {
      let upTo = finalHeight;
      for (const unsaved of snapshot.unsaved(startHeight, finalHeight)) {
        await letOthersWork();
        if (!catalog.answers.isOpen) return null;
        if (unsaved === null) continue;
        upTo = unsaved - 1;
        break;
      }
      return { upTo, hash: upTo < startHeight ? null : snapshot.hashAt(upTo) };
    } finally {
      snapshot.close();
    }
  }
}
