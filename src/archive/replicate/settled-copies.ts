import type { Catalog } from '../../catalog/catalog.ts';
import type { ContentEntry } from '../../catalog/content-table.ts';
import type { DamageWatch } from '../damage-watch.ts';
import type { Site } from './site.ts';

export interface SettledCopiesModules {
  readonly catalog: Catalog;
  readonly sites: readonly Site[];
  readonly damage: DamageWatch;
}

export interface Confirmed {
  /** A copy of each was read whole and hashed just now. */
  readonly there: readonly ContentEntry[];
  /** Copies that are gone, or not it: recorded, and put there again. */
  readonly bad: number;
}

/** Asks once more for what a backend acknowledged before its disk had it: its power may have failed since. */
export class SettledCopies {
  readonly #modules: SettledCopiesModules;

  constructor(modules: SettledCopiesModules) {
    this.#modules = modules;
  }

  /** Rejects only when the signal aborts. A backend that does not answer is asked no more for any of these. */
  async confirm(entries: readonly ContentEntry[], signal: AbortSignal): Promise<Confirmed> {
    const { catalog, damage } = this.#modules;
    const silent = new Set<string>();
    const there: ContentEntry[] = [];
    let bad = 0;
    for (const entry of entries) {
      for (const backend of catalog.replicas.cached.settledAt(entry)) {
        if (silent.has(backend)) continue;
        const found = await this.#look(backend, entry, signal);
        if (found === 'good') {
          there.push(entry);
          break;
        }
        if (found === 'silent') silent.add(backend);
        else if (damage.report(backend, entry)) bad += 1;
      }
    }
    return { there, bad };
  }

  async #look(backend: string, entry: ContentEntry, signal: AbortSignal) {
    const site = this.#modules.sites.find(({ id }) => id === backend);
    if (site === undefined) return 'silent';
    try {
      site.admit();
      return await site.look(entry, signal);
    } catch {
      signal.throwIfAborted();
      return 'silent';
    }
  }
}
