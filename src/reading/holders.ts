import { LRUCache } from 'lru-cache';
import { atMost } from '../core/at-most.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BackendHandle } from '../replication/backend-handle.ts';
import type { LocalStore } from '../storage/local/local-store.ts';

/** Concurrent searches on the backends for unknown names, which any client can make up. */
const MAX_QUESTIONS = 16;
/** Milliseconds for which the answer of all backends is reused. */
const ABSENCE_MS = 5_000;
const ABSENCE_ENTRIES = 10_000;

/** Asks the data folder and the backends themselves for a name that no row has. */
export class Holders {
  readonly #store: Pick<LocalStore, 'stat'>;
  readonly #sites: readonly BackendHandle[];
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #absentUntilMs = new LRUCache<string, number>(atMost(ABSENCE_ENTRIES));
  #questions = 0;

  constructor(store: Pick<LocalStore, 'stat'>, sites: readonly BackendHandle[], clock: Pick<Clock, 'steadyMs'>) {
    this.#store = store;
    this.#sites = sites;
    this.#clock = clock;
  }

  /** A store that has something under that name; null when each one answered that it has not. A fault throws. */
  async of(name: ContentName, signal: AbortSignal): Promise<string | null> {
    if ((await this.#store.stat(name, signal)) !== null) return 'the data folder';
    const key = `${name.hashType}/${name.versionHash}`;
    if (this.#sites.length === 0 || (this.#absentUntilMs.get(key) ?? 0) > this.#clock.steadyMs()) return null;
    if (this.#questions >= MAX_QUESTIONS) return 'not asked';
    this.#questions += 1;
    try {
      const answers = await Promise.all(this.#sites.map((site) => hasIt(site, name, signal)));
      const holder = this.#sites.find((_, index) => answers[index] === true);
      if (holder !== undefined) return holder.id;
      this.#absentUntilMs.set(key, this.#clock.steadyMs() + ABSENCE_MS);
      return null;
    } finally {
      this.#questions -= 1;
    }
  }
}

async function hasIt(site: BackendHandle, name: ContentName, signal: AbortSignal): Promise<boolean> {
  site.admit();
  return await site.hasBytes(name, signal);
}
