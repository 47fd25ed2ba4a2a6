import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ContentEntry, ContentTable } from './content-table.ts';
import { type PlacementTable, SPOOL } from './placement-table.ts';

interface CacheParts {
  readonly content: ContentTable;
  readonly placements: PlacementTable;
  readonly nowMs: () => number;
  readonly reading: <T>(operation: string, work: () => T) => T;
  readonly transaction: <T>(operation: string, work: () => T) => T;
}

/** What lets a cached blob go: `stored`, or held by one backend at least. */
export type EvictionGrade = 'stored' | 'held-elsewhere';

const numbers = z.array(z.number());

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

  /** The oldest cached blobs that another backend is proven to hold, power loss there or not. */
  evictable(grade: EvictionGrade, limit: number): ContentEntry[] {
    const settled =
      'EXISTS (SELECT 1 FROM backend JOIN placement AS other ON other.backend_id = id WHERE configured = 1 AND counts = 1 AND other.sequence = here.sequence AND other.state = 1 AND COALESCE(other.verified_ms, 0) <= ? - settle_ms)';
    const condition = grade === 'stored' ? `content.state = 2 AND ${settled}` : settled;
    return this.#parts.reading('find what the cache can let go', () =>
      numbers
        .parse(
          this.#database
            .prepare(
              `SELECT here.sequence FROM placement AS here JOIN content USING (sequence) WHERE here.backend_id = ? AND here.state < 2 AND ${condition} ORDER BY here.sequence LIMIT ?`,
            )
            .pluck()
            .all(this.#parts.placements.id(SPOOL), this.#parts.nowMs(), limit),
        )
        .flatMap((sequence) => this.#parts.content.at(sequence) ?? []),
    );
  }

  /** How long after it was read back a copy of this backend can still be lost with its power. */
  recordSettling(backend: string, milliseconds: number): void {
    this.#parts.transaction('record how a backend keeps', () => this.#parts.placements.settle(backend, milliseconds));
  }

  /** Takes the local copies out of the books, before they are deleted; those that are the last ones stay. */
  recordEvicted(entries: readonly ContentEntry[]): ContentEntry[] {
    const { placements, nowMs, transaction } = this.#parts;
    return transaction('record what the cache lets go', () =>
      entries.filter(({ sequence }) => {
        if (placements.settledCopies(sequence, nowMs()) === 0) return false;
        placements.remove(SPOOL, sequence);
        return true;
      }),
    );
  }
}
