import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, parseVersionHash, type VersionHash } from '../../src/core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../../src/core/sqlite/hash-type-code.ts';

const named = z.tuple([z.instanceof(Buffer), z.number()]);

/** One copy that the catalog calls good. */
export interface GoodCopy {
  readonly name: ContentName;
  readonly backend: string;
  readonly counts: boolean;
}

interface Told {
  readonly version: number;
  readonly good: readonly GoodCopy[];
  /** Number of copies that count, by the number of the content. */
  readonly counted: ReadonlyMap<number, number>;
  readonly stored: readonly number[];
}

const MAX_BACKENDS = 1_000;
const GOOD = `
SELECT object, backend_id, backend.counts FROM copy JOIN backend ON backend.id = backend_id
WHERE kind = 5 AND state = 1 AND configured = 1`;
const LOCAL = `
SELECT object FROM copy JOIN backend ON backend.id = backend_id WHERE kind = 5 AND backend.name = 'local'`;
const NAME = 'SELECT version_hash, hash_type FROM content WHERE sequence = ?';
const TOTALS = `
SELECT value ->> 'count' AS told, value ->> 'bytes' AS told_bytes,
  (SELECT COUNT(*) FROM content WHERE name = 'contents/' || state) AS counted,
  (SELECT COALESCE(SUM(size_bytes), 0) FROM content WHERE name = 'contents/' || state) AS counted_bytes
FROM fact WHERE name GLOB 'contents/*' AND (told <> counted OR told_bytes <> counted_bytes)`;
const STORED_SEQUENCES = 'SELECT sequence FROM content WHERE state = 2';
const BACKEND = 'SELECT name FROM backend WHERE id = ?';
const LOST = 'SELECT version_hash, hash_type FROM lost WHERE revoked_ms IS NULL';
const ROWS = 'SELECT version_hash, hash_type FROM blob';
const WITHHELD = 'SELECT DISTINCT version_hash, hash_type FROM withheld';
const NAMED = 'SELECT sequence FROM content WHERE version_hash = ? AND hash_type = ?';
const ROW = 'SELECT bytes FROM blob WHERE version_hash = ? AND hash_type = ?';

/** The committed rows of the catalog on the disk, read over a connection of the simulation's own. */
export class Claims {
  readonly #catalog: Database.Database;
  readonly #rows: Database.Database;
  readonly #version: Database.Statement;
  readonly #good: Database.Statement;
  readonly #local: Database.Statement;
  readonly #name: Database.Statement;
  readonly #totals: Database.Statement;
  readonly #storedSequences: Database.Statement;
  readonly #backend: Database.Statement;
  readonly #lost: Database.Statement;
  readonly #row: Database.Statement;
  readonly #withheld: Database.Statement;
  readonly #allRows: Database.Statement;
  readonly #named: Database.Statement;
  /** Keys are the numbers that the catalog gives: a number is never given again. */
  readonly #copies = new Map<number, GoodCopy>();
  readonly #names = new Map<number, ContentName>();
  #read: Told | null = null;

  constructor(folder: string) {
    this.#catalog = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
    this.#rows = new Database(join(folder, 'blobs', 'small.sqlite'), { readonly: true });
    this.#version = this.#catalog.prepare('PRAGMA data_version').pluck();
    this.#good = this.#catalog.prepare(GOOD).raw();
    this.#local = this.#catalog.prepare(LOCAL).pluck();
    this.#name = this.#catalog.prepare(NAME).raw();
    this.#totals = this.#catalog.prepare(TOTALS);
    this.#storedSequences = this.#catalog.prepare(STORED_SEQUENCES).pluck();
    this.#backend = this.#catalog.prepare(BACKEND).pluck();
    this.#lost = this.#catalog.prepare(LOST).raw();
    this.#row = this.#rows.prepare(ROW).pluck();
    this.#allRows = this.#rows.prepare(ROWS).raw();
    this.#withheld = this.#catalog.prepare(WITHHELD).raw();
    this.#named = this.#catalog.prepare(NAMED).pluck();
  }

  /** Another one after each commit of the archiver. */
  version(): number {
    return Number(this.#version.get());
  }

  good(): readonly GoodCopy[] {
    return this.#told.good;
  }

  /** One that is called stored with fewer copies than that; null: none is. */
  storedWithFewer(required: number): ContentName | null {
    const { counted, stored } = this.#told;
    const short = stored.find((sequence) => (counted.get(sequence) ?? 0) < required);
    return short === undefined ? null : this.nameAt(short);
  }

  /** Totals that differ from a count of the rows, as the catalog has them. */
  wrongTotals(): readonly unknown[] {
    return this.#totals.all();
  }

  /** Contents that the data folder is said to have, by the numbers that the catalog gives them. */
  local(): Set<number> {
    return new Set(this.#local.all() as number[]);
  }

  /** Answers that every event needs are read once after each commit. */
  get #told(): Told {
    const version = this.version();
    if (this.#read !== null && this.#read.version === version) return this.#read;
    const good: GoodCopy[] = [];
    const counted = new Map<number, number>();
    for (const [sequence, backend, counts] of this.#good.all() as [number, number, number][]) {
      const copy = this.#copy(sequence, backend, counts === 1);
      if (copy !== null) good.push(copy);
      counted.set(sequence, (counted.get(sequence) ?? 0) + counts);
    }
    this.#read = { version, good, counted, stored: this.#storedSequences.all() as number[] };
    return this.#read;
  }

  #copy(sequence: number, backendId: number, counts: boolean): GoodCopy | null {
    const key = sequence * MAX_BACKENDS + backendId;
    const known = this.#copies.get(key);
    if (known !== undefined) return known;
    const name = this.nameAt(sequence);
    if (name === null) return null;
    const copy = { name, backend: z.string().parse(this.#backend.get(backendId)), counts };
    this.#copies.set(key, copy);
    return copy;
  }

  /** null: the catalog knows it no more. */
  nameAt(sequence: number): ContentName | null {
    const known = this.#names.get(sequence);
    if (known !== undefined) return known;
    const row = this.#name.get(sequence);
    if (row === undefined) return null;
    const name = nameOf(row);
    this.#names.set(sequence, name);
    return name;
  }

  stored(): Set<VersionHash> {
    const names = this.#told.stored.flatMap((sequence) => this.nameAt(sequence) ?? []);
    return new Set(names.map(({ versionHash }) => versionHash));
  }

  lost(): ContentName[] {
    return this.#lost.all().map(nameOf);
  }

  /** Blobs that the catalog says are taken down, by any operator. */
  withheld(): Set<VersionHash> {
    return new Set(this.#withheld.all().map((row) => nameOf(row).versionHash));
  }

  /** A small blob as its row has it. */
  row({ versionHash, hashType }: ContentName): Uint8Array | null {
    const found = this.#row.get(Buffer.from(versionHash, 'hex'), hashTypeCode(hashType));
    return found === undefined ? null : z.instanceof(Buffer).parse(found);
  }

  /** Small blobs that lie in the data folder, whatever the catalog says. */
  rows(): ContentName[] {
    return this.#allRows.all().map(nameOf);
  }

  /** null: the catalog does not know it. */
  sequenceOf({ versionHash, hashType }: ContentName): number | null {
    const found = this.#named.get(Buffer.from(versionHash, 'hex'), hashTypeCode(hashType));
    return found === undefined ? null : z.number().parse(found);
  }

  close(): void {
    this.#catalog.close();
    this.#rows.close();
  }
}

function nameOf(row: unknown): ContentName {
  const [hash, type] = named.parse(row);
  return { versionHash: parseVersionHash(hash.toString('hex')), hashType: hashTypeFrom(type) };
}
