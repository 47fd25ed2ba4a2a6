import type { Catalog } from '../../catalog/catalog.ts';
import type { KeptCustom } from '../../catalog/custom-ledger.ts';
import { messageOf } from '../../core/blob/errors.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import { StorageError } from '../../storage/errors.ts';
import type { CustomPlace } from './custom-place.ts';
import type { CustomPlaces } from './custom-places.ts';

export interface CustomMenderModules {
  readonly catalog: Catalog;
  readonly places: CustomPlaces;
  readonly conditions: ConditionBoard;
}

const PAGE_ENTRIES = 64;

/** Brings custom bytes to every place that is to hold them and does not, or not whole: from a good copy elsewhere. */
export class CustomMender {
  readonly #modules: CustomMenderModules;

  constructor(modules: CustomMenderModules) {
    this.#modules = modules;
  }

  /**
   * Each place that can be written to now, once; `held`: what no place had when it was last looked for is left alone. What
   * fails for one place is no reason to leave the others.
   */
  async mend(which: 'all' | 'held', signal: AbortSignal): Promise<void> {
    for (const place of this.#modules.places.all) {
      if (!place.isUsable) continue;
      try {
        await this.#fill(place, which, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        this.#modules.conditions.note('custom', `${place.id} does not take custom bytes now: ${messageOf(error)}`);
      }
    }
  }

  async #fill(place: CustomPlace, which: 'all' | 'held', signal: AbortSignal): Promise<void> {
    const { custom } = this.#modules.catalog;
    for (let after = 0; ; ) {
      const page = custom.unproven(place.id, which, after, PAGE_ENTRIES);
      const last = page.at(-1);
      if (last === undefined) return;
      for (const entry of page) {
        if (await this.#bring(entry, place, signal)) custom.record(entry, entry.sizeBytes, place.id);
      }
      after = last.sequence;
    }
  }

  /** A fault of the disk may have passed: what is good where it is to be is not written again. */
  async #bring(entry: KeptCustom, place: CustomPlace, signal: AbortSignal): Promise<boolean> {
    if ((await place.read(entry, signal)).kind === 'good') return true;
    const { bytes } = await this.#modules.places.find(entry, signal, place.id);
    // It may have been taken down meanwhile: then nobody has to have it.
    if (bytes === null || !this.#modules.catalog.custom.isKnown(entry)) return false;
    return await place.bring(entry, bytes, signal);
  }
}
