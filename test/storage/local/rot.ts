import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { z } from 'zod';

const number = z.number();
const ROOT_OF = { root: 'blob', table: 'blob', index: 'sqlite_autoindex_blob_1', content: 'content' } as const;
/** First bytes of the pages that only point to others. */
const INTERIOR: ReadonlySet<number> = new Set([2, 5]);
const INTERIOR_HEADER_BYTES = 12;

/**
 * Overwrites the header of a page, as a bad sector does: of a file of small blobs, of a leaf or of the table's root; of a
 * catalog, of its contents.
 */
export function rotPage(path: string, part: keyof typeof ROOT_OF): void {
  const database = new Database(path);
  database.pragma('wal_checkpoint(TRUNCATE)');
  const pageBytes = number.parse(database.pragma('page_size', { simple: true }));
  const root = number.parse(
    database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(ROOT_OF[part]),
  );
  database.close();
  const bytes = readFileSync(path);
  let page = root;
  while (part !== 'root' && INTERIOR.has(bytes[(page - 1) * pageBytes] ?? 0)) {
    const at = (page - 1) * pageBytes;
    // The second of its pointers: in the middle of the table rather than at its beginning.
    page = bytes.readUInt32BE(at + bytes.readUInt16BE(at + INTERIOR_HEADER_BYTES + 2));
  }
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from([0x77, 1, 2, 3, 4]), 0, 5, (page - 1) * pageBytes);
  closeSync(file);
}
