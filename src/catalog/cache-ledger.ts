import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ContentEntry, ContentTable } from './content-table.ts';
import { type PlacementTable, SPOOL } from './placement-table.ts';

interface CacheParts {
  readonly content: ContentTable;
  readonly placements: PlacementTable;
  /** What was recorded before it is at least as old as it seems by this, whatever steps the wall clock made. */
  readonly surelyMs: () => number;
  readonly reading: <T>(operation: string, work: () => T) => T;
  readonly transaction: <T>(operation: string, work: () => T) => T;
}

/** What lets a cached blob go: `stored`, or held by one backend at least. */
export type EvictionGrade = 'stored' | 'held-elsewhere';

/** What another backend's copy is safe by. */
export type EvictionSafety = 'kept' | 'settled';

const numbers = z.array(z.number());
const names = z.array(z.string());

const COUNTS = 'configured = 1 AND counts = 1 AND other.state = 1';
const SAFE: Readonly<Record<EvictionSafety, string>> = {
  kept: `${COUNTS} AND settle_ms = 0`,
  settled: `${COUNTS} AND settle_ms > 0 AND COALESCE(other.verified_ms, 0) <= @surelyMs - settle_ms`,
};

/** The local store as a cache: what lies there, and what of it may go. */
export class CacheLedger {
  readonly #database: Database.Database;
  readonly #parts: CacheParts;

  constructor(database: Database.Database, parts: CacheParts) {
    this.#database = database;
    this.#parts = parts;
  }

  /** What was read elsewhere lies in the local store as well, proven. false: the catalog does not know it any more. */
  recordCached({ sequence }: ContentEntry): boolean {
    return this.#parts.transaction('record what is cached', () => {
      if (this.#parts.content.at(sequence) === null) return false;
      this.#parts.placements.put(SPOOL, sequence, 'wanted', null);
      return true;
    });
  }

  /** Bytes that the catalog says lie in the local store. */
  localBytes(): number {
    return this.#parts.reading('measure the local store', () =>
      z
        .number()
        .parse(
          this.#database
            .prepare(
              'SELECT COALESCE(SUM(size_bytes), 0) FROM placement JOIN content USING (sequence) WHERE backend_id = ? AND placement.state < 2',
            )
            .pluck()
            .get(this.#parts.placements.id(SPOOL)),
        ),
    );
  }

  /**
   * The oldest cached blobs that another backend is proven to hold. `kept`: one that keeps what it acknowledged.
   * `settled`: one whose disk must have it by now, unless its power failed before: it is to be asked again.
   */
  evictable(grade: EvictionGrade, safety: EvictionSafety, limit: number): ContentEntry[] {
    const elsewhere = `EXISTS (SELECT 1 FROM backend JOIN placement AS other ON other.backend_id = id WHERE other.sequence = here.sequence AND ${SAFE[safety]})`;
    const condition = grade === 'stored' ? `content.state = 2 AND ${elsewhere}` : elsewhere;
    return this.#parts.reading('find what the cache can let go', () => {
      if (!this.#hasBackend(safety)) return [];
      return numbers
        .parse(
          this.#database
            .prepare(
              `SELECT here.sequence FROM placement AS here JOIN content USING (sequence) WHERE here.backend_id = @local AND here.state < 2 AND ${condition} ORDER BY here.sequence LIMIT @limit`,
            )
            .pluck()
            .all({ local: this.#parts.placements.id(SPOOL), surelyMs: this.#parts.surelyMs(), limit }),
        )
        .flatMap((sequence) => this.#parts.content.at(sequence) ?? []);
    });
  }

  /** Where it has settled, and is to be asked for again before it is relied upon. */
  settledAt({ sequence }: ContentEntry): string[] {
    return this.#parts.reading('look where a blob has settled', () =>
      names.parse(
        this.#database
          .prepare(
            `SELECT name FROM backend CROSS JOIN placement AS other ON other.backend_id = id WHERE other.sequence = @sequence AND ${SAFE.settled}`,
          )
          .pluck()
          .all({ sequence, surelyMs: this.#parts.surelyMs() }),
      ),
    );
  }

  /** Else every row that is cached would be looked at in vain. */
  #hasBackend(safety: EvictionSafety): boolean {
    const comparison = safety === 'kept' ? '=' : '>';
    return (
      this.#database
        .prepare(`SELECT 1 FROM backend WHERE configured = 1 AND counts = 1 AND settle_ms ${comparison} 0`)
        .get() !== undefined
    );
  }

  /** How long after it was read back a copy of this backend can still be lost with its power. */
  recordSettling(backend: string, milliseconds: number): void {
    this.#parts.transaction('record how a backend keeps', () => this.#parts.placements.settle(backend, milliseconds));
  }

  /** Takes the local copies out of the books, before they are deleted; those that are the last ones stay. */
  recordEvicted(entries: readonly ContentEntry[]): ContentEntry[] {
    const { placements, surelyMs, transaction } = this.#parts;
    return transaction('record what the cache lets go', () =>
      entries.filter(({ sequence }) => {
        if (placements.settledCopies(sequence, surelyMs()) === 0) return false;
        placements.remove(SPOOL, sequence);
        return true;
      }),
    );
  }
}
