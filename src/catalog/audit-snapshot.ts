import Database from 'better-sqlite3';
import { z } from 'zod';
import { type BlockHash, type ContentName, parseBlockHash, parseVersionHash } from '../core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { HOLDINGS, type Holding, type InventoryBlock } from '../verify/inventory.ts';
import { RECORDED_OCCURRENCES } from './chain-index.ts';
import { CUSTOM_NAMES } from './custom-ledger.ts';
import { IS_UNSAVED, WITH_CONTENT } from './first-unsaved.ts';
import { decodeOccurrence, type OccurrenceRow, occurrenceRow, type PlacedOccurrence } from './occurrence-table.ts';
import { hashKey } from './seen-table.ts';

/**
 * Tally of the content of an occurrence, from the tables alone. `spooled` is pending too: durable here, not yet
 * elsewhere.
 */
export interface HeldTally {
  readonly stored: number;
  readonly spooled: number;
  readonly seen: number;
  readonly lost: number;
  /** A rule of the operator left it out. */
  readonly 'not-archived-by-rule': number;
}

export type HeldState = keyof HeldTally;

/** Classes that a content is counted in whatever is held of it. */
export type SetAsideClass = 'withheld' | 'custom';

export interface UnstoredOccurrence extends OccurrenceRow {
  readonly held: Exclude<HeldState, 'stored' | 'not-archived-by-rule'>;
  /** Mediantime of its block. */
  readonly medianTimeSeconds: number;
}

/** An occurrence, as an export needs it. */
export interface BundledOccurrence extends PlacedOccurrence {
  readonly holding: Holding;
  /** null: the bytes were never here. */
  readonly sizeBytes: number | null;
  /** No earlier occurrence in the range has the same content. */
  readonly isFirst: boolean;
  /** Whether it is one of the first occurrences of its content, which have records. */
  readonly isRecorded: boolean;
}

/** The recorded branch at the moment of the snapshot. */
export interface AuditedBranch {
  readonly startHeight: number | null;
  /** null: nothing is recorded. */
  readonly lowestHeight: number | null;
  readonly tipHeight: number | null;
  readonly tipMedianSeconds: number | null;
}

/** Rows of one step: a few milliseconds, between which the caller lets others work. */
const STEP_ROWS = 8_192;
const MAX_PARTS = 65_536;
const STEP_BLOCKS = 256;
/** While readers wait. */
const SHORT_STEP_BLOCKS = 8;
/** Rows that are in memory at a time: a block can have thousands, and a step has many blocks. */
const PAGE_ROWS = 1_024;
const CACHE_KIB = 16_384;

const OPEN = 'COALESCE(content.state, 0) = 0';
/** A fault is never absence: only a recorded loss is. Looked up for what is not held alone. */
const LOST = `${OPEN} AND EXISTS (SELECT 1 FROM lost WHERE lost.version_hash = occurrence.version_hash
  AND lost.hash_type = occurrence.hash_type AND lost.up_to_height >= occurrence.height AND lost.revoked_ms IS NULL)`;
const IS_LEFT_OUT = `${OPEN} AND EXISTS (SELECT 1 FROM left_out WHERE left_out.version_hash = occurrence.version_hash)`;
const IS_WITHHELD = `EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = occurrence.version_hash
  AND withheld.hash_type = occurrence.hash_type)`;
const IS_CUSTOM = `${OPEN} AND EXISTS (SELECT 1 FROM custom WHERE custom.version_hash = occurrence.version_hash AND is_held = 1)`;
/** A withheld content is withheld, whatever else is true of it. */
const SET_ASIDE: Readonly<Record<SetAsideClass, string>> = {
  withheld: 'SELECT DISTINCT version_hash, hash_type FROM withheld',
  custom: `SELECT custom.version_hash, type.hash_type ${CUSTOM_NAMES}
    AND NOT EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = custom.version_hash AND withheld.hash_type = type.hash_type)`,
};
/** Plain sums: a GROUP BY would sort every row. */
const TALLY = `SELECT COUNT(*) AS total, COUNT(*) FILTER (WHERE content.state = 2) AS stored,
  COUNT(*) FILTER (WHERE content.state = 1) AS spooled, COUNT(*) FILTER (WHERE ${LOST}) AS lost,
  COUNT(*) FILTER (WHERE ${IS_LEFT_OUT}) AS left_out FROM occurrence`;

const TALLY_OF_ONE = `${TALLY} INDEXED BY occurrence_by_content ${WITH_CONTENT}
  WHERE occurrence.version_hash = ? AND occurrence.hash_type = ? AND occurrence.height BETWEEN ? AND ?`;

/** Names that are not stored and that a step looks up one by one; more of them are looked up with all others. */
const MAX_APART = 64;
const IN_PART = `occurrence INDEXED BY occurrence_by_content
  WHERE version_hash >= @begin AND version_hash < @end AND height BETWEEN @from AND @to`;
/** Both sides are in the order of an index, so that SQLite merges them. */
const UNSTORED_NAMES = `SELECT version_hash, hash_type FROM ${IN_PART}
  EXCEPT SELECT version_hash, hash_type FROM content WHERE version_hash >= @begin AND version_hash < @end AND state = 2
  ORDER BY 1, 2 LIMIT @limit`;

/** Names that an inventory keeps in memory because it has to look up what is held of them: some 6 MiB. */
const MAX_LOOKED_UP = 65_536;

/** State of an occurrence by the codes of `HOLDINGS`; the order of the cases is that of `IS_UNSAVED`. */
const HOLDING = `CASE WHEN EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = occurrence.version_hash
    AND withheld.hash_type = occurrence.hash_type) THEN x'03'
  WHEN content.state = 2 THEN x'01'
  WHEN content.state IS NOT 1 AND EXISTS (SELECT 1 FROM custom WHERE custom.version_hash = occurrence.version_hash AND is_held = 1) THEN x'04'
  WHEN ${LOST} THEN x'02' WHEN ${IS_LEFT_OUT} THEN x'05' ELSE x'00' END`;
/** Only what is in `apart` is looked up: without it, a look-up an occurrence is nine tenths of the time (measured). */
const HOLDING_BESIDES = `CASE WHEN EXISTS (SELECT 1 FROM temp.apart WHERE apart.version_hash = occurrence.version_hash
    AND apart.hash_type = occurrence.hash_type) THEN (SELECT ${HOLDING} FROM (SELECT 1) ${WITH_CONTENT}) ELSE x'01' END`;
const INVENTORY = inventorySql(HOLDING, WITH_CONTENT);
const INVENTORY_BESIDES = inventorySql(HOLDING_BESIDES, '');

const EARLIER = `SELECT 1 FROM occurrence AS earlier INDEXED BY occurrence_by_content
  WHERE earlier.version_hash = occurrence.version_hash AND earlier.hash_type = occurrence.hash_type
    AND (earlier.height, earlier.transaction_index) < (occurrence.height, occurrence.transaction_index)`;
/** `is_first`: from the height @first on. A content can have very many occurrences: no more of them is looked at than it takes. */
const BUNDLED = `SELECT occurrence.*, block.hash, block.median_time_seconds, content.size_bytes, ${HOLDING} AS holding,
    NOT EXISTS (${EARLIER} AND earlier.height >= @first) AS is_first,
    NOT EXISTS (${EARLIER} LIMIT 1 OFFSET ${RECORDED_OCCURRENCES - 1}) AS is_recorded
  FROM occurrence NOT INDEXED CROSS JOIN block ON block.height = occurrence.height ${WITH_CONTENT}
  WHERE occurrence.height BETWEEN @from AND @to ORDER BY occurrence.height, occurrence.transaction_index`;

const nameRow = z.tuple([z.instanceof(Buffer), z.number()]);
const tallyRow = z.object({
  total: z.number(),
  stored: z.number(),
  spooled: z.number(),
  lost: z.number(),
  left_out: z.number(),
});
const branchRow = z.object({
  start: z.number().nullable(),
  lowest: z.number().nullable(),
  tip: z.number().nullable(),
  median: z.number().nullable(),
});
const unstoredRow = occurrenceRow.extend({
  state: z.number(),
  is_lost: z.number(),
  median_time_seconds: z.number(),
});

const bundledRow = occurrenceRow.extend({
  hash: z.instanceof(Buffer),
  median_time_seconds: z.number(),
  size_bytes: z.number().nullable(),
  holding: z.instanceof(Buffer),
  is_first: z.number(),
  is_recorded: z.number(),
});
/** Read thousands of times: to make a schema takes longer than to read with it. */
const hashValue = z.instanceof(Buffer);
const countValue = z.number();
const nameRows = z.array(nameRow);
const inventoryRow = z.tuple([z.number(), z.instanceof(Buffer), z.instanceof(Buffer)]);

/**
 * One moment of the catalog, read over a connection of its own while the archive goes on: what it counts is what was
 * true together. Close it: as long as it lives, the log of the database cannot be reset.
 */
export class AuditSnapshot {
  readonly #database: Database.Database;
  readonly #ofOne: Database.Statement;
  /** A draw of samples asks for thousands of single heights: to prepare these again costs more than to run them. */
  readonly #prepared = new Map<string, Database.Statement>();
  /** Stays what it is at this moment; null: not read yet. */
  #branch: AuditedBranch | null = null;
  /** Blocks on the branch at this moment; null: not counted yet. To count them takes a page for every few dozen of them. */
  #allBlocks: number | null = null;
  /** Whether the table `apart` has every name on chain that is not plainly stored. `too-many`: it cannot take them all. */
  #apart: 'not-gathered' | 'gathering' | 'whole' | 'too-many' = 'not-gathered';

  constructor(path: string) {
    this.#database = new Database(path, { readonly: true, fileMustExist: true });
    try {
      this.#database.pragma(`cache_size = -${CACHE_KIB}`);
      this.#database.pragma('temp_store = MEMORY');
      this.#database.exec('BEGIN');
      // A transaction sees the moment of its first read.
      this.#database.prepare('SELECT 1 FROM fact').get();
      this.#ofOne = this.#database.prepare(TALLY_OF_ONE);
    } catch (cause) {
      this.#database.close();
      throw cause;
    }
  }

  branch(): AuditedBranch {
    if (this.#branch !== null) return this.#branch;
    const found = branchRow.parse(
      this.#prepare(
        `SELECT (SELECT value ->> 'startHeight' FROM fact WHERE name = 'walk') AS start, (SELECT MIN(height) FROM block) AS lowest, MAX(height) AS tip,
           (SELECT median_time_seconds FROM block ORDER BY height DESC LIMIT 1) AS median FROM block`,
      ).get(),
    );
    this.#branch = {
      startHeight: found.start,
      lowestHeight: found.lowest,
      tipHeight: found.tip,
      tipMedianSeconds: found.median,
    };
    return this.#branch;
  }

  /** null: it is not recorded. */
  hashAt(height: number): BlockHash | null {
    const found = this.#prepare('SELECT hash FROM block WHERE height = ?').pluck().get(height);
    return found === undefined ? null : parseBlockHash(hashValue.parse(found).toString('hex'));
  }

  blocks(from: number, to: number): number {
    return this.#count('SELECT COUNT(*) FROM block WHERE height BETWEEN ? AND ?', from, to);
  }

  /** Transactions of version 137 of which it is not plain what they carry. */
  unclear(from: number, to: number): number {
    return this.#count('SELECT COUNT(*) FROM unclear_transaction WHERE height BETWEEN ? AND ?', from, to);
  }

  /** Every occurrence at these heights, a few thousand a step. */
  tallies(from: number, to: number): Generator<HeldTally> {
    // In the order of both indices each page is read once; a look-up a row in the order of the chain costs far more, but
    // only for the rows that are asked for.
    return this.#isMost(from, to) ? this.#byContent(from, to) : this.#byHeight(from, to);
  }

  /**
   * Nearly everything is stored in most archives, so the names that are not come out of both indices side by side. Looking up the
   * content of each occurrence costs more (measured: 2.5 plain scans of the occurrences, against 1.6).
   */
  *#byContent(from: number, to: number): Generator<HeldTally> {
    const total = this.#database.prepare(`SELECT COUNT(*) FROM ${IN_PART}`).pluck();
    const unstored = this.#database.prepare(UNSTORED_NAMES).raw();
    const ofAll = this.#database.prepare(
      `${TALLY} INDEXED BY occurrence_by_content ${WITH_CONTENT}
       WHERE occurrence.version_hash >= @begin AND occurrence.version_hash < @end AND occurrence.height BETWEEN @from AND @to`,
    );
    for (const part of this.#hashParts()) {
      const range = { ...part, from, to };
      const names = nameRows.parse(unstored.all({ ...range, limit: MAX_APART + 1 }));
      if (names.length > MAX_APART) yield decodeTally(ofAll.get(range));
      else {
        const apart = names.map((name) => decodeTally(this.#ofOne.get(...name, from, to)));
        yield besides(countValue.parse(total.get(range)), apart);
      }
    }
  }

  *#byHeight(from: number, to: number): Generator<HeldTally> {
    const tally = this.#database.prepare(
      `${TALLY} NOT INDEXED ${WITH_CONTENT} WHERE occurrence.height BETWEEN ? AND ?`,
    );
    for (const [first, last] of this.#steps(from, to)) yield decodeTally(tally.get(first, last));
  }

  /** Tally of one content at these heights. */
  tallyOf({ hashType, versionHash }: ContentName, from: number, to: number): HeldTally {
    return decodeTally(this.#ofOne.get(hashKey(versionHash), hashTypeCode(hashType), from, to));
  }

  /** Every content of a class, read row by row: none of them is kept. */
  *setAside(kind: SetAsideClass): Generator<ContentName> {
    for (const row of this.#database.prepare(SET_ASIDE[kind]).raw().iterate()) {
      const [versionHash, hashType] = nameRow.parse(row);
      yield { versionHash: parseVersionHash(versionHash.toString('hex')), hashType: hashTypeFrom(hashType) };
    }
  }

  /** Occurrences whose content is neither `stored` nor set aside, in chain order, in steps. */
  *unstored(from: number, to: number): Generator<UnstoredOccurrence[]> {
    const page = this.#database.prepare(
      `SELECT occurrence.*, COALESCE(content.state, 0) AS state, ${LOST} AS is_lost, block.median_time_seconds
       FROM occurrence NOT INDEXED CROSS JOIN block ON block.height = occurrence.height ${WITH_CONTENT}
       WHERE (occurrence.height, occurrence.transaction_index) > (?, ?) AND occurrence.height <= ?
         AND COALESCE(content.state, 0) < 2 AND NOT ${IS_WITHHELD} AND NOT (${IS_CUSTOM}) AND NOT (${IS_LEFT_OUT})
       ORDER BY occurrence.height, occurrence.transaction_index LIMIT ${PAGE_ROWS}`,
    );
    for (const [first, last] of this.#steps(from, to)) {
      for (let after: [height: number, index: number] | null = [first, -1]; after !== null; ) {
        const found: UnstoredOccurrence[] = page.all(...after, last).map(decodeUnstored);
        yield found;
        const end: UnstoredOccurrence | undefined = found.length === PAGE_ROWS ? found.at(-1) : undefined;
        after = end === undefined ? null : [end.height, end.transactionIndex];
      }
    }
  }

  /** For each step of a few milliseconds, upwards: the lowest of its heights with something that is not saved; null: all is. */
  *unsaved(from: number, to: number): Generator<number | null> {
    const lowest = this.#database
      .prepare(
        `SELECT MIN(occurrence.height) FROM occurrence NOT INDEXED ${WITH_CONTENT}
         WHERE occurrence.height BETWEEN ? AND ? AND ${IS_UNSAVED}`,
      )
      .pluck();
    for (const step of this.#steps(from, to, SHORT_STEP_BLOCKS))
      yield z
        .number()
        .nullable()
        .parse(lowest.get(...step));
  }

  occurrences(from: number, to: number): number {
    return this.#count('SELECT COUNT(*) FROM occurrence NOT INDEXED WHERE height BETWEEN ? AND ?', from, to);
  }

  /** Every block with occurrences at these heights, upwards, and what is held of each occurrence; some blocks a step. */
  *inventory(from: number, to: number): Generator<InventoryBlock[]> {
    if (this.#apart === 'not-gathered' && this.#isMost(from, to)) yield* this.#gatherApart();
    const rows = this.#prepare(this.#apart === 'whole' ? INVENTORY_BESIDES : INVENTORY).raw();
    for (const step of this.#steps(from, to)) yield rows.all(...step).map(decodeInventory);
  }

  /**
   * Every occurrence at these heights, in the order of the chain. `first`: where the range begins that they are a part of.
   * All rows at once: a few hundred blocks have some thousands.
   */
  bundled(first: number, from: number, to: number): BundledOccurrence[] {
    return this.#database.prepare(BUNDLED).all({ first, from, to }).map(decodeBundled);
  }

  close(): void {
    this.#database.close();
  }

  /** Only where there is anything recorded: an audit may be asked of any heights. */
  *#steps(from: number, to: number, blocks = STEP_BLOCKS): Generator<[number, number]> {
    const { lowestHeight, tipHeight } = this.branch();
    if (lowestHeight === null || tipHeight === null) return;
    const end = Math.min(to, tipHeight);
    for (let first = Math.max(from, lowestHeight); first <= end; first += blocks) {
      yield [first, Math.min(end, first + blocks - 1)];
    }
  }

  /** Most of the branch: each index is read from one end to the other then. */
  #isMost(from: number, to: number): boolean {
    this.#allBlocks ??= this.#count('SELECT COUNT(*) FROM block');
    return this.blocks(from, to) * 4 >= this.#allBlocks;
  }

  /** All hashes in equal parts, each with a few thousand occurrences. */
  *#hashParts(): Generator<{ readonly begin: Buffer; readonly end: Buffer }> {
    const rows = this.#count('SELECT COUNT(*) FROM occurrence');
    const parts = Math.min(MAX_PARTS, 2 ** Math.ceil(Math.log2(Math.max(1, rows / STEP_ROWS))));
    for (let part = 0; part < parts; part += 1) yield { begin: edge(part, parts), end: edge(part + 1, parts) };
  }

  /** Finds the names on chain that are not plainly stored, in steps, out of both indices side by side. */
  *#gatherApart(): Generator<never[]> {
    this.#apart = 'gathering';
    this.#database.exec(
      'CREATE TEMP TABLE apart (version_hash BLOB, hash_type INTEGER, PRIMARY KEY (version_hash, hash_type)) WITHOUT ROWID',
    );
    const unstored = this.#database.prepare(`INSERT INTO temp.apart SELECT * FROM (${UNSTORED_NAMES})`);
    const { lowestHeight: from, tipHeight: to } = this.branch();
    let room = MAX_LOOKED_UP - this.#count('SELECT COUNT(*) FROM withheld');
    for (const part of this.#hashParts()) {
      if (room > 0) room -= unstored.run({ ...part, from, to, limit: room }).changes;
      if (room <= 0) {
        this.#apart = 'too-many';
        this.#database.exec('DROP TABLE temp.apart');
        return;
      }
      yield [];
    }
    this.#database.exec(`INSERT OR IGNORE INTO temp.apart ${SET_ASIDE.withheld}`);
    this.#apart = 'whole';
  }

  /** For what is read to its end at once: no two readers are under way in one statement. */
  #prepare(sql: string): Database.Statement {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const made = this.#database.prepare(sql);
    this.#prepared.set(sql, made);
    return made;
  }

  #count(sql: string, ...values: readonly number[]): number {
    return countValue.parse(
      this.#prepare(sql)
        .pluck()
        .get(...values),
    );
  }
}

/** One row a block, packed by SQLite itself: a row an occurrence takes fifteen times as long (measured). */
function inventorySql(holding: string, join: string): string {
  return `SELECT block.height, block.hash, CAST(group_concat(occurrence.txid || unhex(printf('%08x', occurrence.vout))
      || CASE occurrence.hash_type WHEN 1 THEN x'01' ELSE x'02' END || occurrence.version_hash || ${holding}, ''
      ORDER BY occurrence.transaction_index) AS BLOB)
    FROM occurrence NOT INDEXED CROSS JOIN block ON block.height = occurrence.height ${join}
    WHERE occurrence.height BETWEEN ? AND ? GROUP BY occurrence.height`;
}

/** The lower edge of one of so many equal parts of all hashes: its first two bytes; behind the last, what no hash reaches. */
function edge(part: number, parts: number): Buffer {
  if (part >= parts) return Buffer.alloc(33, 0xff);
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE((part * MAX_PARTS) / parts);
  return bytes;
}

function decodeTally(value: unknown): HeldTally {
  const { total, stored, spooled, lost, left_out: leftOut } = tallyRow.parse(value);
  const seen = total - stored - spooled - lost - leftOut;
  return { stored, spooled, lost, seen, 'not-archived-by-rule': leftOut };
}

/** All other occurrences are stored. */
function besides(total: number, apart: readonly HeldTally[]): HeldTally {
  const of = (state: HeldState) => apart.reduce((sum, tally) => sum + tally[state], 0);
  const [spooled, seen, lost, leftOut] = [of('spooled'), of('seen'), of('lost'), of('not-archived-by-rule')];
  const stored = total - spooled - seen - lost - leftOut;
  return { stored, spooled, seen, lost, 'not-archived-by-rule': leftOut };
}

function decodeInventory(row: unknown): InventoryBlock {
  const [height, blockHash, occurrences] = inventoryRow.parse(row);
  return { height, blockHash, occurrences };
}

function decodeBundled(value: unknown): BundledOccurrence {
  const found = bundledRow.parse(value);
  const [code] = found.holding;
  const holding = HOLDINGS[code ?? -1];
  if (holding === undefined) throw new RangeError('a holding is a number from 0 to 5');
  return {
    ...decodeOccurrence(found),
    blockHash: parseBlockHash(found.hash.toString('hex')),
    medianTimeSeconds: found.median_time_seconds,
    sizeBytes: found.size_bytes,
    isFirst: found.is_first === 1,
    isRecorded: found.is_recorded === 1,
    holding,
  };
}

function decodeUnstored(value: unknown): UnstoredOccurrence {
  const found = unstoredRow.parse(value);
  const held = found.state === 1 ? 'spooled' : found.is_lost === 1 ? 'lost' : 'seen';
  return { ...decodeOccurrence(found), held, medianTimeSeconds: found.median_time_seconds };
}
