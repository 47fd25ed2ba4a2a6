import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ContentEntry } from './content-table.ts';
import { BLOB } from './placement-state.ts';
import { SPOOL } from './placement-table.ts';
import type { Tables } from './tables.ts';

/** Condition for evicting a cached blob: `stored`, or held by one backend at least. */
export type EvictionGrade = 'stored' | 'held-elsewhere';

/** Reason why another backend's copy is safe. */
export type EvictionSafety = 'kept' | 'settled';

/** A blob, and a backend that holds it. */
export interface HeldCopy {
  readonly entry: ContentEntry;
  readonly backend: string;
}

const numbers = z.array(z.number());
const names = z.array(z.string());

/** Backends that are asked about: one that does not answer is no reason to delete bytes. */
const COUNTS = 'configured = 1 AND counts = 1 AND other.state = 1 AND name IN (SELECT value FROM json_each(@backends))';
const SAFE: Readonly<Record<EvictionSafety, string>> = {
  kept: `${COUNTS} AND durability_delay_ms = 0`,
  settled: `${COUNTS} AND durability_delay_ms > 0 AND COALESCE(other.verified_ms, 0) <= @surelyMs - durability_delay_ms`,
};

/** The local store as a cache: its blobs, and those that may be evicted. */
export class CacheLedger {
  readonly #tables: Tables;
  readonly #mayCache: Database.Statement;

  constructor(tables: Tables) {
    this.#tables = tables;
    this.#mayCache = tables.database.prepare(
      `SELECT 1 FROM content WHERE sequence = ? AND NOT EXISTS
         (SELECT 1 FROM withheld WHERE version_hash = content.version_hash AND hash_type = content.hash_type)`,
    );
  }

  /**
   * Records a blob whose bytes are in the local store and in no books: `wanted` when they are proven. Such bytes take the
   * blob out of the fetch queue, if no other place held it. Returns false when the catalog does not know it any more,
   * when it was taken down meanwhile, and when the books have it here: another counts its bytes.
   */
  recordCached(entry: ContentEntry, state: 'wanted' | 'damaged' = 'wanted'): boolean {
    return this.#tables.transaction('record what is cached', () => {
      if (this.#mayCache.get(entry.sequence) === undefined || this.has(entry)) return false;
      this.#tables.placements.put(SPOOL, entry.sequence, state, null);
      this.#tables.recount(entry);
      return true;
    });
  }

  /** Reports whether the books have a copy in the local store, good or not. */
  has({ sequence }: ContentEntry): boolean {
    return this.#tables.reading('look a local copy up', () =>
      this.#tables.placements.of(sequence).some(({ backend }) => backend === SPOOL),
    );
  }

  /** Bytes that the catalog says lie in the local store. */
  localBytes(): number {
    return this.#tables.reading('measure the local store', () =>
      z
        .number()
        .parse(
          this.#tables.database
            .prepare(
              `SELECT COALESCE(SUM(size_bytes), 0) FROM copy JOIN content ON sequence = object WHERE backend_id = ? AND kind = ${BLOB} AND copy.state < 2`,
            )
            .pluck()
            .get(this.#tables.placements.id(SPOOL)),
        ),
    );
  }

  /**
   * The oldest cached blobs that one of these backends is proven to hold; for `stored`, as many of these as are required.
   * `kept`: by a backend that keeps what it acknowledged. `settled`: by one whose disk must have the blob by now, unless
   * its power failed before.
   */
  evictable(grade: EvictionGrade, safety: EvictionSafety, backends: readonly string[], limit: number): ContentEntry[] {
    const copies = `FROM backend CROSS JOIN copy AS other ON other.backend_id = id WHERE other.kind = ${BLOB} AND other.object = here.object`;
    const elsewhere = `EXISTS (SELECT 1 ${copies} AND ${SAFE[safety]})`;
    const isStored = `content.state = 2 AND (SELECT COUNT(*) ${copies} AND ${COUNTS}) >= @required`;
    const condition = grade === 'stored' ? `${isStored} AND ${elsewhere}` : elsewhere;
    const { placements, content, replicasRequired, surelyMs, reading } = this.#tables;
    return reading('find what the cache can evict', () => {
      if (!this.#hasBackend(safety, backends)) return [];
      const given = { local: placements.id(SPOOL), backends: JSON.stringify(backends), limit };
      return numbers
        .parse(
          this.#tables.database
            .prepare(
              `SELECT here.object FROM copy AS here JOIN content ON sequence = here.object WHERE here.backend_id = @local AND here.kind = ${BLOB} AND here.state < 2
               AND ${condition} ORDER BY here.object LIMIT @limit`,
            )
            .pluck()
            .all({
              ...given,
              ...(safety === 'settled' ? { surelyMs: surelyMs() } : {}),
              ...(grade === 'stored' ? { required: replicasRequired } : {}),
            }),
        )
        .flatMap((sequence) => content.at(sequence) ?? []);
    });
  }

  /** The backends among the given ones that hold it safely in this way. */
  safeAt({ sequence }: ContentEntry, safety: EvictionSafety, backends: readonly string[]): string[] {
    return this.#tables.reading('look where a blob is safe', () =>
      names.parse(
        this.#tables.database
          .prepare(
            `SELECT name FROM backend CROSS JOIN copy AS other ON other.backend_id = id WHERE other.kind = ${BLOB} AND other.object = @sequence AND ${SAFE[safety]}`,
          )
          .pluck()
          .all({
            sequence,
            backends: JSON.stringify(backends),
            ...(safety === 'settled' ? { surelyMs: this.#tables.surelyMs() } : {}),
          }),
      ),
    );
  }

  /** Else every row that is cached would be looked at in vain. */
  #hasBackend(safety: EvictionSafety, backends: readonly string[]): boolean {
    const comparison = safety === 'kept' ? '=' : '>';
    return (
      this.#tables.database
        .prepare(
          `SELECT 1 FROM backend WHERE configured = 1 AND counts = 1 AND durability_delay_ms ${comparison} 0 AND name IN (SELECT value FROM json_each(?))`,
        )
        .get(JSON.stringify(backends)) !== undefined
    );
  }

  /** Records for how long after its read-back a copy of this backend can be lost in a power failure. */
  recordDurabilityDelay(backend: string, milliseconds: number): void {
    this.#tables.transaction('record how a backend keeps', () =>
      this.#tables.placements.setDurabilityDelay(backend, milliseconds),
    );
  }

  /**
   * Takes the local copies out of the books, before they are deleted. A blob stays whose backend was found since to hold
   * no good copy, or that is arriving again.
   */
  recordEvicted(held: readonly HeldCopy[]): ContentEntry[] {
    const { placements, arriving, transaction } = this.#tables;
    return transaction('record what the cache evicts', () =>
      held
        .filter(({ entry, backend }) => {
          const { sequence } = entry;
          if (arriving.has(entry)) return false;
          const isGood = placements.of(sequence).some((one) => one.backend === backend && one.state === 'good');
          if (isGood) placements.remove(SPOOL, sequence);
          return isGood;
        })
        .map(({ entry }) => entry),
    );
  }
}
