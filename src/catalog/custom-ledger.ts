import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, parseVersionHash, type VersionHash } from '../blob/ids.ts';
import { hashTypeFrom } from '../sqlite/hash-type-code.ts';
import { hashKey } from './wanted-table.ts';

/** Bytes that match neither hash, by the keccak256 that they do have. */
export interface CustomEntry {
  readonly versionHash: VersionHash;
  readonly keccak: VersionHash;
}

const entryRow = z.object({ version_hash: z.instanceof(Buffer), keccak: z.instanceof(Buffer) });
const nameRow = z.object({ version_hash: z.instanceof(Buffer), hash_type: z.number() });

/** What is kept of custom commitments, and where. It makes nothing held, and nothing stored. */
export class CustomLedger {
  readonly #nowMs: () => number;
  readonly #put: Database.Statement;
  readonly #has: Database.Statement;
  readonly #isKept: Database.Statement;
  readonly #names: Database.Statement;
  readonly #copied: Database.Statement;
  readonly #uncopied: Database.Statement;

  constructor(database: Database.Database, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#put = database.prepare(
      'INSERT INTO custom (version_hash, keccak, size_bytes, kept_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#has = database.prepare('SELECT 1 FROM custom WHERE version_hash = ? LIMIT 1');
    this.#isKept = database.prepare('SELECT 1 FROM custom WHERE version_hash = ? AND keccak = ?');
    // Content that turned up after all is what it is: held.
    this.#names = database.prepare(
      `SELECT DISTINCT occurrence.version_hash, hash_type FROM custom CROSS JOIN occurrence ON occurrence.version_hash = custom.version_hash
       WHERE NOT EXISTS (SELECT 1 FROM content WHERE content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type AND state > 0)`,
    );
    this.#copied = database.prepare(
      'INSERT INTO custom_copy (version_hash, keccak, backend, verified_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#uncopied = database.prepare(
      `SELECT version_hash, keccak FROM custom WHERE NOT EXISTS (SELECT 1 FROM custom_copy
       WHERE custom_copy.backend = ? AND custom_copy.version_hash = custom.version_hash AND custom_copy.keccak = custom.keccak)
       LIMIT ?`,
    );
  }

  /** They are durable in the data folder, and were read back. */
  record({ versionHash, keccak }: CustomEntry, sizeBytes: number): void {
    this.#put.run(hashKey(versionHash), hashKey(keccak), sizeBytes, this.#nowMs());
  }

  has(versionHash: VersionHash): boolean {
    return this.#has.get(hashKey(versionHash)) !== undefined;
  }

  isKept({ versionHash, keccak }: CustomEntry): boolean {
    return this.#isKept.get(hashKey(versionHash), hashKey(keccak)) !== undefined;
  }

  /** Content on chain of which such bytes are all that there is. */
  names(): ContentName[] {
    return this.#names.all().map((value) => {
      const row = nameRow.parse(value);
      return { versionHash: parseVersionHash(row.version_hash.toString('hex')), hashType: hashTypeFrom(row.hash_type) };
    });
  }

  /** The backend gave them back whole. */
  recordCopy({ versionHash, keccak }: CustomEntry, backend: string): void {
    this.#copied.run(hashKey(versionHash), hashKey(keccak), backend, this.#nowMs());
  }

  /** What a backend has still to get. */
  uncopied(backend: string, limit: number): CustomEntry[] {
    return this.#uncopied.all(backend, limit).map((value) => {
      const row = entryRow.parse(value);
      return {
        versionHash: parseVersionHash(row.version_hash.toString('hex')),
        keccak: parseVersionHash(row.keccak.toString('hex')),
      };
    });
  }
}
