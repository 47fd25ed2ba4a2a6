import type Database from 'better-sqlite3';
import { z } from 'zod';

/** Evidence as it is to lie on every backend with names. */
export interface EvidenceDocument {
  /** Below `audit/<archiver id>/`: `lost/<hash type>/<version hash>/<txid>-<vout>.json`, `withheld/…`, `audits/…`. */
  readonly path: string;
  /** JSON. */
  readonly document: string;
  /** Grows with every change. */
  readonly sequence: number;
}

const row = z.object({ path: z.string(), document: z.string(), sequence: z.number() });

/** Runs one statement, and says what it was for when it fails. */
type Reading = <T>(operation: string, work: () => T) => T;

/**
 * What exists nowhere else, between the catalog, where it is recorded in the commit that makes it so, and the backends,
 * each of which gets all of it. Nothing is ever deleted: what no longer holds is overwritten with a later state.
 */
export class EvidenceOutbox {
  readonly #reading: Reading;
  readonly #put: Database.Statement;
  readonly #adopt: Database.Statement;
  readonly #find: Database.Statement;
  readonly #below: Database.Statement;
  readonly #lastBelow: Database.Statement;
  readonly #page: Database.Statement;
  readonly #due: Database.Statement;
  readonly #waiting: Database.Statement;
  readonly #delivered: Database.Statement;
  readonly #deliver: Database.Statement;
  readonly #undeliver: Database.Statement;
  readonly #refuse: Database.Statement;
  readonly #refused: Database.Statement;
  readonly #accept: Database.Statement;

  constructor(database: Database.Database, reading: Reading) {
    this.#reading = reading;
    const next = '(SELECT COALESCE(MAX(sequence), 0) + 1 FROM evidence)';
    this.#put = database.prepare(
      `INSERT INTO evidence (path, document, sequence) VALUES (?, ?, ${next})
       ON CONFLICT (path) DO UPDATE SET document = excluded.document, sequence = ${next} WHERE document <> excluded.document`,
    );
    this.#adopt = database.prepare(
      `INSERT INTO evidence (path, document, sequence) VALUES (?, ?, ${next}) ON CONFLICT (path) DO NOTHING`,
    );
    this.#find = database.prepare('SELECT document FROM evidence WHERE path = ?').pluck();
    this.#below = database.prepare(
      `SELECT path, document, sequence FROM evidence WHERE path > ? AND path > ? || '/' AND path < ? || '0' ORDER BY path LIMIT ?`,
    );
    this.#lastBelow = database
      .prepare("SELECT document FROM evidence WHERE path > ? || '/' AND path < ? || '0' ORDER BY path DESC LIMIT 1")
      .pluck();
    this.#page = database.prepare('SELECT path, document, sequence FROM evidence WHERE path > ? ORDER BY path LIMIT ?');
    this.#due = database.prepare(
      'SELECT path, document, sequence FROM evidence WHERE sequence > ? ORDER BY sequence LIMIT ?',
    );
    this.#waiting = database
      .prepare(
        `SELECT (SELECT COUNT(*) FROM evidence WHERE sequence > @after)
         + (SELECT COUNT(*) FROM evidence_refused JOIN evidence USING (path) WHERE store = @store AND sequence <= @after)`,
      )
      .pluck();
    this.#refuse = database.prepare('INSERT INTO evidence_refused (store, path) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#refused = database
      .prepare('SELECT path FROM evidence_refused WHERE store = ? AND path > ? ORDER BY path LIMIT ?')
      .pluck();
    this.#accept = database.prepare('DELETE FROM evidence_refused WHERE store = ? AND path = ?');
    this.#delivered = database.prepare('SELECT sequence FROM evidence_delivery WHERE store = ?').pluck();
    this.#deliver = database.prepare(
      `INSERT INTO evidence_delivery (store, sequence) VALUES (?, ?)
       ON CONFLICT (store) DO UPDATE SET sequence = MAX(sequence, excluded.sequence)`,
    );
    this.#undeliver = database.prepare('UPDATE evidence_delivery SET sequence = MIN(sequence, ?) WHERE store = ?');
  }

  /**
   * Records a document, or its later state, to be written to every backend. One durable commit, or a part of the
   * transaction that it is called in: what makes it so and the evidence of it belong in one. The same again is nothing.
   */
  put(path: string, document: Readonly<Record<string, unknown>>): void {
    this.#reading('record evidence', () => this.#put.run(path, JSON.stringify(document)));
  }

  /** What a backend holds of a catalog that was lost; what is recorded here is later, and stays. true: it was taken. */
  adopt(path: string, document: string): boolean {
    return this.#adopt.run(path, document).changes === 1;
  }

  /** The latest state of a document, as it was put; null: there is none. */
  find(path: string): unknown {
    const found = z.string().optional().parse(this.#find.get(path));
    return found === undefined ? null : JSON.parse(found);
  }

  /** What lies below a folder, without a slash at its end, and behind the path `after`, in the order of paths. */
  below(folder: string, after: string, limit: number): EvidenceDocument[] {
    return z.array(row).parse(this.#below.all(after, folder, folder, limit));
  }

  /** The document with the highest path below a folder, without a slash at its end; null: there is none. */
  lastBelow(folder: string): unknown {
    const found = z.string().optional().parse(this.#lastBelow.get(folder, folder));
    return found === undefined ? null : JSON.parse(found);
  }

  /** All of it, in the order of paths. */
  page(after: string, limit: number): EvidenceDocument[] {
    return this.#reading('read evidence', () => z.array(row).parse(this.#page.all(after, limit)));
  }

  /** What this store has not got yet, in the order in which it is to be written. */
  due(store: string, limit: number): EvidenceDocument[] {
    return this.#reading('read what waits for a backend', () =>
      z.array(row).parse(this.#due.all(this.deliveredTo(store) ?? 0, limit)),
    );
  }

  waitingFor(store: string): number {
    return z.number().parse(this.#waiting.get({ store, after: this.deliveredTo(store) ?? 0 }));
  }

  /** null: nothing was ever written there. */
  deliveredTo(store: string): number | null {
    return z.number().optional().parse(this.#delivered.get(store)) ?? null;
  }

  /** The store refuses this document and takes others: everything else goes on without it. */
  recordRefused(store: string, path: string): void {
    this.#reading('record what a backend refuses', () => this.#refuse.run(store, path));
  }

  /** The store has the latest state of this document. */
  recordAccepted(store: string, path: string): void {
    this.#reading('record what a backend has', () => this.#accept.run(store, path));
  }

  /** What the store refused and is to get all the same, in the order of paths. */
  refused(store: string, after: string, limit: number): string[] {
    return this.#reading('read what a backend refuses', () =>
      z.array(z.string()).parse(this.#refused.all(store, after, limit)),
    );
  }

  /** The store has everything up to here, but what is recorded as refused. */
  recordDelivered(store: string, sequence: number): void {
    this.#reading('record what a backend has', () => this.#deliver.run(store, sequence));
  }

  /** What comes after this has left the store: it is brought again. */
  recordUndelivered(store: string, sequence: number): void {
    this.#reading('record what has left a backend', () => this.#undeliver.run(sequence, store));
  }
}
