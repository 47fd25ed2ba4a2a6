import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, type HashType, parseTxId, parseVersionHash, type TxId } from '../core/blob/ids.ts';
import type { Senders } from '../core/blob/sender.ts';
import { hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { type BlockRow, decodeBlock } from './block-table.ts';
import { CONTENT_STATES, type StoredState } from './content-table.ts';
import { decodeSenders } from './occurrence-table.ts';
import { BLOB, type PlacementState } from './placement-state.ts';
import { LISTED_DUE } from './queue-parts.ts';

/** One blob of a block, or one that waits for a block, as far as the catalog knows it. */
export interface WindowRow extends Omit<ContentName, 'hashType'> {
  /** null: only listed so far, and a list does not say which hash it is. */
  readonly hashType: HashType | null;
  readonly txid: TxId | null;
  readonly senders: Senders;
  /** null: no list named it yet, and its bytes are not here. */
  readonly sizeBytes: number | null;
  readonly state: StoredState;
  /** Mediantime of its newest occurrence while its bytes are missing; null otherwise. */
  readonly queuedMedianSeconds: number | null;
  readonly isLost: boolean;
  /** A rule of the operator leaves it out. */
  readonly isLeftOut: boolean;
  /** Bytes that match neither hash are kept of it. */
  readonly isCustom: boolean;
  /** Names it in the placements; null: its bytes never were here. */
  readonly sequence: number | null;
}

/** Copy that a configured backend should hold of one content. */
export interface WindowPlacement {
  readonly sequence: number;
  readonly backend: string;
  readonly counts: boolean;
  readonly state: PlacementState;
}

const windowRow = z.object({
  version_hash: z.instanceof(Buffer),
  hash_type: z.number().nullable(),
  txid: z.instanceof(Buffer).nullable(),
  senders: z.string().nullable(),
  size_bytes: z.number().nullable(),
  state: z.number().nullable(),
  queued_median_seconds: z.number().nullable(),
  is_lost: z.number(),
  is_custom: z.number(),
  is_left_out: z.number(),
  sequence: z.number().nullable(),
});
const placementRow = z.object({ sequence: z.number(), backend: z.string(), counts: z.number(), state: z.number() });
const PLACEMENT_STATES = ['wanted', 'good', 'damaged'] as const satisfies readonly PlacementState[];

const QUEUED_SIZE = 'CASE WHEN seen.size_known = 1 THEN seen.size_bytes END';

/** The window block by block, for people to look at. Every read has a bound. */
export class WindowRows {
  readonly #blocks: Database.Statement;
  readonly #below: Database.Statement;
  readonly #ofBlock: Database.Statement;
  readonly #placements: Database.Statement;
  readonly #placementsOfContents: Database.Statement;
  readonly #listed: Database.Statement;
  readonly #arrived: Database.Statement;
  readonly #changes: Database.Statement;
  readonly #reading: <T>(operation: string, work: () => T) => T;

  constructor(database: Database.Database, reading: <T>(operation: string, work: () => T) => T) {
    this.#reading = reading;
    this.#blocks = database.prepare(
      `SELECT height, hash, previous_hash, time_seconds, median_time_seconds FROM block
       WHERE height BETWEEN ? AND ? AND median_time_seconds >= ? ORDER BY height`,
    );
    this.#below = database
      .prepare('SELECT height FROM block WHERE height < ? AND median_time_seconds < ? ORDER BY height DESC LIMIT 1')
      .pluck();
    this.#ofBlock = database.prepare(
      `SELECT o.version_hash, o.hash_type, o.txid, o.senders, COALESCE(content.size_bytes, left_out.size_bytes, ${QUEUED_SIZE}) AS size_bytes,
         content.state, seen.median_time_seconds AS queued_median_seconds, lost.version_hash IS NOT NULL AS is_lost, content.sequence,
         left_out.version_hash IS NOT NULL AS is_left_out,
         EXISTS (SELECT 1 FROM custom WHERE custom.version_hash = o.version_hash AND is_held = 1) AS is_custom
       FROM occurrence AS o
       LEFT JOIN content ON content.version_hash = o.version_hash AND content.hash_type = o.hash_type
       LEFT JOIN seen ON seen.version_hash = o.version_hash
       LEFT JOIN left_out ON left_out.version_hash = o.version_hash
       LEFT JOIN lost ON lost.version_hash = o.version_hash AND lost.hash_type = o.hash_type
         AND lost.revoked_ms IS NULL AND lost.up_to_height >= o.height
       WHERE o.height = ? ORDER BY o.transaction_index LIMIT ?`,
    );
    this.#placements = database.prepare(
      `SELECT content.sequence, backend.name AS backend, backend.counts, copy.state
       FROM (SELECT version_hash, hash_type FROM occurrence WHERE height = ? ORDER BY transaction_index LIMIT ?) AS o
       CROSS JOIN content ON content.version_hash = o.version_hash AND content.hash_type = o.hash_type
       CROSS JOIN backend ON backend.configured = 1
       CROSS JOIN copy ON copy.backend_id = backend.id AND copy.kind = ${BLOB} AND copy.object = content.sequence`,
    );
    this.#placementsOfContents = database.prepare(
      `SELECT requested.value AS sequence, backend.name AS backend, backend.counts, copy.state
       FROM json_each(?) AS requested
       CROSS JOIN backend ON backend.configured = 1
       CROSS JOIN copy ON copy.backend_id = backend.id AND copy.kind = ${BLOB} AND copy.object = requested.value`,
    );
    this.#listed = database.prepare(
      `SELECT version_hash, hash_type, txid, NULL AS senders, ${QUEUED_SIZE} AS size_bytes, NULL AS state, median_time_seconds AS queued_median_seconds,
         0 AS is_lost, 0 AS is_custom, 0 AS is_left_out, NULL AS sequence
       FROM ${LISTED_DUE} AND median_time_seconds >= ? ORDER BY median_time_seconds LIMIT ?`,
    );
    this.#arrived = database.prepare(
      `SELECT version_hash, hash_type, txid, NULL AS senders, size_bytes, state, NULL AS queued_median_seconds, 0 AS is_lost, 0 AS is_custom, 0 AS is_left_out, sequence FROM
         (SELECT * FROM content ORDER BY sequence DESC LIMIT ?) AS latest
       WHERE state > 0 AND median_time_seconds >= ? AND NOT EXISTS
         (SELECT 1 FROM occurrence WHERE occurrence.version_hash = latest.version_hash AND occurrence.hash_type = latest.hash_type)
       ORDER BY sequence LIMIT ?`,
    );
    this.#changes = database.prepare('SELECT total_changes()').pluck();
  }

  /** Grows with every row that is written: while it stands still, nothing in here does change. */
  changes(): number {
    return this.#reading('look for changes', () => z.number().parse(this.#changes.get()));
  }

  /** The newest blocks, at most `most`, that are not older than `sinceSeconds`; in chain order. */
  blocks(tip: number, sinceSeconds: number, most: number): BlockRow[] {
    return this.#reading('read the blocks of the window', () =>
      this.#blocks.all(tip - most + 1, tip, sinceSeconds).map(decodeBlock),
    );
  }

  /** Height of the highest block under `height` that is older than `sinceSeconds`; null: there is none. */
  highestBelow(height: number, sinceSeconds: number): number | null {
    return this.#reading(
      'find the end of the window',
      () => z.number().optional().parse(this.#below.get(height, sinceSeconds)) ?? null,
    );
  }

  /** In the order of the block, at most `most`. */
  ofBlock(height: number, most: number): WindowRow[] {
    return this.#reading('read a block of the window', () => this.#ofBlock.all(height, most).map(decode));
  }

  /** Backends that should hold the contents of this block, for the rows of `ofBlock`. */
  placementsOf(height: number, most: number): WindowPlacement[] {
    return this.#reading('read the replicas of a block', () => this.#placements.all(height, most).map(decodePlacement));
  }

  /** Backends that should hold these contents. */
  placementsOfContents(sequences: readonly number[]): WindowPlacement[] {
    return this.#reading('read the replicas of what waits for a block', () =>
      this.#placementsOfContents.all(JSON.stringify(sequences)).map(decodePlacement),
    );
  }

  /** In no block yet: what is still to be fetched, then what is here; looks at so many latest arrivals only. */
  waiting(sinceSeconds: number, latest: number, most: number): WindowRow[] {
    return this.#reading('read what waits for a block', () =>
      [...this.#listed.all(sinceSeconds, most), ...this.#arrived.all(latest, sinceSeconds, most)]
        .slice(0, most)
        .map(decode),
    );
  }
}

function decodePlacement(value: unknown): WindowPlacement {
  const { sequence, backend, counts, state } = placementRow.parse(value);
  return { sequence, backend, counts: counts === 1, state: PLACEMENT_STATES[state] ?? 'wanted' };
}

function decode(value: unknown): WindowRow {
  const found = windowRow.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType: found.hash_type === null ? null : hashTypeFrom(found.hash_type),
    txid: found.txid === null ? null : parseTxId(found.txid.toString('hex')),
    senders: decodeSenders(found.senders),
    sizeBytes: found.size_bytes,
    state: CONTENT_STATES[found.state ?? 0] ?? 'seen',
    queuedMedianSeconds: found.queued_median_seconds,
    isLost: found.is_lost === 1,
    isLeftOut: found.is_left_out === 1,
    isCustom: found.is_custom === 1,
    sequence: found.sequence,
  };
}
