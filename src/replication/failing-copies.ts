import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/** More than this many are not told apart. */
const MAX_REMEMBERED = 1_000;

/** Blobs that one backend does not take while it takes others: told until each of them is there, or is not to be. */
export class FailingCopies {
  readonly #backend: string;
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  readonly #failing = new Map<number, ContentEntry>();

  constructor(backend: string, catalog: Catalog, conditions: ConditionBoard) {
    this.#backend = backend;
    this.#catalog = catalog;
    this.#conditions = conditions;
  }

  failed(sequence: number, entry: ContentEntry, error: unknown): void {
    if (this.#failing.size < MAX_REMEMBERED) this.#failing.set(sequence, entry);
    const isOurs = error instanceof HoldfastError;
    const count = this.#failing.size < MAX_REMEMBERED ? String(this.#failing.size) : `${MAX_REMEMBERED} or more`;
    const message = `${count} blobs cannot be brought to ${this.#backend} now, which takes others. Latest: ${messageOf(error)}`;
    if (isOurs) {
      const { code, hint } = error;
      this.#conditions.set(`copies:${this.#backend}`, { code, message, hint, blocksReadiness: false });
    } else this.#conditions.setError(`copies:${this.#backend}`, error, false);
  }

  get isEmpty(): boolean {
    return this.#failing.size === 0;
  }

  succeeded(sequence: number): void {
    if (this.#failing.delete(sequence)) this.#clearIfNone();
  }

  /** Drops the blobs that are not to be brought there any more: taken down since, or evicted. */
  forgetGone(): void {
    for (const [sequence, entry] of this.#failing) {
      const isWanted = this.#catalog
        .placementsOf(entry)
        .some((one) => one.backend === this.#backend && one.state !== 'good');
      if (!isWanted) this.#failing.delete(sequence);
    }
    this.#clearIfNone();
  }

  #clearIfNone(): void {
    if (this.#failing.size === 0) this.#conditions.set(`copies:${this.#backend}`, null);
  }
}
