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

const GOOD = `
SELECT object, backend.name, backend.counts FROM copy JOIN backend ON backend.id = backend_id
WHERE kind = 5 AND state = 1 AND configured = 1`;
const LOCAL = `
SELECT object FROM copy JOIN backend ON backend.id = backend_id WHERE kind = 5 AND backend.name = 'local'`;
const NAME = 'SELECT version_hash, hash_type FROM content WHERE sequence = ?';
const STORED_SEQUENCES = 'SELECT sequence FROM content WHERE state = 2';
const STORED = 'SELECT version_hash, hash_type FROM content WHERE state = 2';
const LOST = 'SELECT version_hash, hash_type FROM lost WHERE revoked_ms IS NULL';
const ROW = 'SELECT bytes FROM blob WHERE version_hash = ? AND hash_type = ?';

/** What the catalog on the disk says, read over a connection of the simulation's own: what is committed, and nothing else. */
export class Claims {
  readonly #catalog: Database.Database;
  readonly #rows: Database.Database;
  readonly #version: Database.Statement;
  readonly #good: Database.Statement;
  readonly #local: Database.Statement;
  readonly #name: Database.Statement;
  readonly #storedSequences: Database.Statement;
  readonly #stored: Database.Statement;
  readonly #lost: Database.Statement;
  readonly #row: Database.Statement;
  /** By what the catalog numbers them with: a number is never given again. */
  readonly #copies = new Map<string, GoodCopy>();

  constructor(folder: string) {
    this.#catalog = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
    this.#rows = new Database(join(folder, 'blobs', 'small.sqlite'), { readonly: true });
    this.#version = this.#catalog.prepare('PRAGMA data_version').pluck();
    this.#good = this.#catalog.prepare(GOOD).raw();
    this.#local = this.#catalog.prepare(LOCAL).pluck();
    this.#name = this.#catalog.prepare(NAME).raw();
    this.#storedSequences = this.#catalog.prepare(STORED_SEQUENCES).pluck();
    this.#stored = this.#catalog.prepare(STORED).raw();
    this.#lost = this.#catalog.prepare(LOST).raw();
    this.#row = this.#rows.prepare(ROW).pluck();
  }

  /** Another one after each commit of the archiver. */
  version(): number {
    return Number(this.#version.get());
  }

  good(): GoodCopy[] {
    const found: GoodCopy[] = [];
    for (const [sequence, backend, counts] of this.#goodRows()) {
      const key = `${backend} ${sequence}`;
      const copy = this.#copies.get(key) ?? this.#copy(sequence, backend, counts === 1);
      if (copy === null) continue;
      this.#copies.set(key, copy);
      found.push(copy);
    }
    return found;
  }

  #goodRows(): [number, string, number][] {
    return this.#good.all() as [number, string, number][];
  }

  #copy(sequence: number, backend: string, counts: boolean): GoodCopy | null {
    const row = this.#name.get(sequence);
    return row === undefined ? null : { name: nameOf(row), backend, counts };
  }

  /** One that is called stored with fewer copies than that; null: none is. */
  storedWithFewer(required: number): ContentName | null {
    const counted = new Map<number, number>();
    for (const [sequence, , counts] of this.#goodRows()) counted.set(sequence, (counted.get(sequence) ?? 0) + counts);
    const stored = this.#storedSequences.all() as number[];
    const short = stored.find((sequence) => (counted.get(sequence) ?? 0) < required);
    return short === undefined ? null : nameOf(this.#name.get(short));
  }

  /** Contents that the data folder is said to have, by the numbers that the catalog gives them. */
  local(): Set<number> {
    return new Set(this.#local.all() as number[]);
  }

  /** null: the catalog knows it no more. */
  nameAt(sequence: number): ContentName | null {
    const row = this.#name.get(sequence);
    return row === undefined ? null : nameOf(row);
  }

  stored(): Set<VersionHash> {
    return new Set(this.#stored.all().map((row) => nameOf(row).versionHash));
  }

  lost(): ContentName[] {
    return this.#lost.all().map(nameOf);
  }

  /** A small blob as its row has it. */
  row({ versionHash, hashType }: ContentName): Uint8Array | null {
    const found = this.#row.get(Buffer.from(versionHash, 'hex'), hashTypeCode(hashType));
    return found === undefined ? null : z.instanceof(Buffer).parse(found);
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
