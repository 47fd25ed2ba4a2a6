import type Database from 'better-sqlite3';
import { z } from 'zod';
import { Notifier } from '../core/notifier.ts';
import { COPIED, type CopyTable, dueCopies } from './copy-table.ts';
import type { Tables } from './tables.ts';

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

const NUMBER_DIGITS = 10;
const NUMBERED = numberedName(0);

/** The file name of a document that has a number. All are of one length, so that their order is that of the numbers. */
export function numberedName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.json`;
}

/**
 * Documents that exist nowhere else, on their way from the catalog to every backend. The commit that makes a fact true
 * records its document as well. No document is ever deleted: a later state overwrites it.
 */
export class EvidenceOutbox {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #reading: Tables['reading'];
  readonly #copies: CopyTable;
  /** Notifies when `isTakenOver` becomes true. */
  readonly takenOver = new Notifier();
  #isTakenOver = false;

  constructor({ database, reading }: Tables, copies: CopyTable) {
    this.#reading = reading;
    this.#copies = copies;
    this.#sql = prepare(database);
  }

  /**
   * Records a document, or its later state, to be written to every backend. One durable commit, or a part of the
   * transaction that it is called in: what makes it so and the evidence of it belong in one. The same again is nothing.
   */
  put(path: string, document: Readonly<Record<string, unknown>>): void {
    this.#reading('record evidence', () => this.#sql.put.run(path, JSON.stringify(document)));
    this.#copies.changes(COPIED.evidence).notify();
  }

  /**
   * Takes over a document from a backend after the catalog was lost; a state recorded here is later, and stays. Returns
   * true when it was taken.
   */
  adopt(path: string, document: string): boolean {
    this.#copies.changes(COPIED.evidence).notify();
    return this.#sql.adopt.run(path, document).changes === 1;
  }

  /** The latest state of a document, as it was put; null: there is none. */
  find(path: string): unknown {
    const found = this.textOf(path);
    return found === null ? null : JSON.parse(found);
  }

  /** The same as JSON. */
  textOf(path: string): string | null {
    return z.string().optional().parse(this.#sql.find.get(path)) ?? null;
  }

  /** Documents below a folder (without a final slash), after the path `after`, in the order of paths. */
  below(folder: string, after: string, limit: number): EvidenceDocument[] {
    return z.array(row).parse(this.#sql.below.all(after, folder, folder, limit));
  }

  /**
   * The document with the highest number for a name below a folder (without a final slash), in whichever folder below that;
   * null: there is none. Folders are named for months, which follow the clock, and the clock may step back.
   */
  lastNumbered(folder: string): unknown {
    const found = z.string().optional().parse(this.#sql.lastNumbered.get(folder, folder));
    return found === undefined ? null : JSON.parse(found);
  }

  /** The document with the highest path below a folder of which this field is null; null: there is none. */
  lastWithout(field: string, folder: string): unknown {
    const found = z
      .string()
      .optional()
      .parse(this.#sql.lastWithout.get(folder, folder, `$.${field}`));
    return found === undefined ? null : JSON.parse(found);
  }

  /** All of it, in the order of paths. */
  page(after: string, limit: number): EvidenceDocument[] {
    return this.#reading('read evidence', () => z.array(row).parse(this.#sql.page.all(after, limit)));
  }

  /** Documents that this store should get now (`isAsked`: at all), after this number, in the order of writing. */
  due(store: string, after: number, limit: number, isAsked = false): EvidenceDocument[] {
    return this.#reading('read what waits for a backend', () =>
      z.array(row).parse(this.#sql.due.all({ ...this.#copies.due(store, after, isAsked), limit })),
    );
  }

  waitingFor(store: string): number {
    return this.#copies.count(COPIED.evidence, store);
  }

  /** The store has these states. A later one of the same document is another object, and waits. */
  recordDelivered(store: string, sequences: readonly number[]): void {
    this.#copies.recordDone(COPIED.evidence, sequences, store);
  }

  /** Reports whether this store is known to have its latest state. */
  isDelivered(store: string, { sequence }: EvidenceDocument): boolean {
    return !this.#copies.isQueued(COPIED.evidence, sequence, store);
  }

  /** This state of it has left the store: it is brought again, unless a later one waits already. */
  requeue(store: string, { path, sequence }: EvidenceDocument): void {
    this.#reading('record what has left a backend', () => {
      if (this.#sql.isLatest.get(path, sequence) !== undefined) this.#copies.want(COPIED.evidence, sequence, store);
    });
  }

  /**
   * This process has looked for what an earlier catalog wrote to the data folder, and hides none of it. Until then what a rule
   * left out looks like a loss, so that nothing is called lost.
   */
  get isTakenOver(): boolean {
    return this.#isTakenOver;
  }

  recordTakenOver(): void {
    this.#isTakenOver = true;
    this.takenOver.notify();
  }

  /** Reports whether the store's documents from before this catalog were taken over. */
  hasGiven(store: string): boolean {
    return this.#sql.gaveEvidence.get(store) === 1;
  }

  recordGiven(store: string): void {
    this.#reading('record whose evidence was taken over', () => this.#sql.recordGiven.run(store));
  }
}

function prepare(database: Database.Database) {
  const next = '(SELECT COALESCE(MAX(sequence), 0) + 1 FROM evidence)';
  return {
    put: database.prepare(
      `INSERT INTO evidence (path, document, sequence) VALUES (?, ?, ${next})
       ON CONFLICT (path) DO UPDATE SET document = excluded.document, sequence = ${next} WHERE document <> excluded.document`,
    ),
    adopt: database.prepare(
      `INSERT INTO evidence (path, document, sequence) VALUES (?, ?, ${next}) ON CONFLICT (path) DO NOTHING`,
    ),
    find: database.prepare('SELECT document FROM evidence WHERE path = ?').pluck(),
    below: database.prepare(
      `SELECT path, document, sequence FROM evidence WHERE path > ? AND path > ? || '/' AND path < ? || '0' ORDER BY path LIMIT ?`,
    ),
    lastNumbered: database
      .prepare(
        `SELECT document FROM evidence WHERE path > ? || '/' AND path < ? || '0'
         ORDER BY substr(path, -${NUMBERED.length}) DESC LIMIT 1`,
      )
      .pluck(),
    lastWithout: database
      .prepare(
        `SELECT document FROM evidence WHERE path > ? || '/' AND path < ? || '0' AND json_type(document, ?) = 'null'
         ORDER BY path DESC LIMIT 1`,
      )
      .pluck(),
    page: database.prepare('SELECT path, document, sequence FROM evidence WHERE path > ? ORDER BY path LIMIT ?'),
    due: database.prepare(
      `SELECT path, document, sequence FROM copy CROSS JOIN evidence ON evidence.sequence = copy.object
       WHERE ${dueCopies(COPIED.evidence)} ORDER BY copy.object LIMIT @limit`,
    ),
    isLatest: database.prepare('SELECT 1 FROM evidence WHERE path = ? AND sequence = ?'),
    gaveEvidence: database.prepare('SELECT gave_evidence FROM backend WHERE name = ?').pluck(),
    recordGiven: database.prepare('UPDATE backend SET gave_evidence = 1 WHERE name = ?'),
  };
}
