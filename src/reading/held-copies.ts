import type { ContentEntry } from '../catalog/content-table.ts';
import type { CacheFill } from '../replication/cache-fill.ts';
import type { Copies, CopySearch } from '../replication/copies.ts';
import type { DamageWatch } from '../replication/damage-watch.ts';

/** Reads content out of its copies for readers: what is damaged is told, and what came from afar is offered to the cache. */
export class HeldCopies {
  readonly #localId: string;
  readonly #copies: Copies;
  readonly #damage: DamageWatch;
  readonly #cacheFill: Pick<CacheFill, 'offer'>;

  constructor(localId: string, copies: Copies, damage: DamageWatch, cacheFill: Pick<CacheFill, 'offer'>) {
    this.#localId = localId;
    this.#copies = copies;
    this.#damage = damage;
    this.#cacheFill = cacheFill;
  }

  async find(entry: ContentEntry, signal: AbortSignal): Promise<CopySearch> {
    // Memory keeps some of these bytes for as long as readers ask for them: they are hashed now, whatever is known of their file.
    const search = await this.#damage.searched(entry, () => this.#copies.findHashed(entry, signal));
    if (search.found !== null && search.found.from !== this.#localId) {
      this.#cacheFill.offer(entry, search.found.blob);
    }
    return search;
  }
}
