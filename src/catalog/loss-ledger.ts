import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, parseVersionHash } from '../core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import type { ChainIndex } from './chain-index.ts';
import type { EvidenceOutbox } from './evidence-outbox.ts';
import { isLeftOutPath } from './left-out-document.ts';
import type { LeftOutLedger } from './left-out-ledger.ts';
import {
  isLossPath,
  type Loss,
  type LossDocument,
  lossAnswer,
  lossDocumentOf,
  lossFolder,
  parseLossDocument,
  REVOCATIONS,
  type Revocation,
} from './loss-document.ts';
import { ofMined } from './queue-parts.ts';
import { hashKey, type OverdueKind, type QueuedBlob } from './seen-table.ts';
import type { Tables } from './tables.ts';
import { UnsavedRows } from './unsaved-rows.ts';

export interface RecordedLoss extends Loss {
  readonly recordedMs: number;
}

/** Number of blobs on chain with less of their window left than each of these bounds. */
export interface Lateness {
  readonly unspooled: number;
  readonly unstored: number;
}

/** A loss that holds no longer. */
export interface RevokedLoss extends RecordedLoss {
  readonly because: Revocation;
}

const row = z.object({
  version_hash: z.instanceof(Buffer),
  hash_type: z.number(),
  up_to_height: z.number(),
  deadline_seconds: z.number(),
  recorded_ms: z.number(),
  answers: z.string(),
});
const COLUMNS = 'version_hash, hash_type, up_to_height, deadline_seconds, recorded_ms, answers';
const number = z.number();
const revokedRow = row.extend({ revoked_ms: z.number(), revoked_because: z.enum(REVOCATIONS).nullable() });

/** Occurrences of a lost content that are named one by one in evidence; `upToHeight` covers the others. */
const NAMED_OCCURRENCES = 16;
/** Losses that one commit revokes: very many may turn up at a time. */
const REVOKED_AT_ONCE = 256;
/** Read from the index alone: with another number of required replicas, a million contents can be unstored. */
export const UNSTORED =
  'content INDEXED BY content_unstored WHERE state = 1 AND unmined = 0 AND median_time_seconds < @until';

/** Late and lost content. It is never a cache of an answer: a loss is evidence, and the bytes revoke it. */
export class LossLedger {
  /** Content on chain that is absent here, for the report of a gap. */
  readonly unsaved: UnsavedRows;
  readonly #tables: Tables;
  readonly #evidence: EvidenceOutbox;
  readonly #chain: Pick<ChainIndex, 'occurrences'>;
  readonly #leftOut: Pick<LeftOutLedger, 'has' | 'adopt' | 'letIn' | 'recordEvidence'>;
  readonly #put: Database.Statement;
  readonly #find: Database.Statement;
  readonly #count: Database.Statement;
  readonly #all: Database.Statement;
  readonly #revoked: Database.Statement;
  readonly #revoke: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #unspooled: Database.Statement;
  readonly #unstored: Database.Statement;
  readonly #unstoredUpTo: Database.Statement;

  constructor(
    tables: Tables,
    evidence: EvidenceOutbox,
    chain: Pick<ChainIndex, 'occurrences'>,
    leftOut: Pick<LeftOutLedger, 'has' | 'adopt' | 'letIn' | 'recordEvidence'>,
  ) {
    const { database } = tables;
    this.#tables = tables;
    this.#evidence = evidence;
    this.#chain = chain;
    this.#leftOut = leftOut;
    this.unsaved = new UnsavedRows(database, tables.reading);
    this.#put = database.prepare(
      `INSERT INTO lost (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET up_to_height = excluded.up_to_height,
       deadline_seconds = excluded.deadline_seconds, recorded_ms = excluded.recorded_ms, answers = excluded.answers, revoked_ms = NULL, revoked_because = NULL`,
    );
    this.#find = database.prepare(
      `SELECT ${COLUMNS} FROM lost WHERE version_hash = ? AND hash_type = ? AND revoked_ms IS NULL`,
    );
    const isWithheld =
      'EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = lost.version_hash AND withheld.hash_type = lost.hash_type)';
    this.#count = database.prepare(`SELECT COUNT(*) FROM lost WHERE revoked_ms IS NULL AND NOT ${isWithheld}`).pluck();
    this.#all = database.prepare(
      `SELECT ${COLUMNS} FROM lost WHERE revoked_ms IS NULL AND version_hash > ? ORDER BY version_hash LIMIT ?`,
    );
    this.#revoked = database.prepare(
      `SELECT ${COLUMNS}, revoked_ms, revoked_because FROM lost INDEXED BY lost_revoked WHERE revoked_ms IS NOT NULL LIMIT ${REVOKED_AT_ONCE}`,
    );
    this.#revoke = database.prepare('UPDATE lost SET revoked_ms = ? WHERE version_hash = ? AND hash_type = ?');
    this.#forget = database.prepare('DELETE FROM lost WHERE version_hash = ? AND hash_type = ?');
    this.#unspooled = database
      .prepare(
        `SELECT SUM(count) FROM (${ofMined('COUNT(*) AS count', 'median_time_seconds BETWEEN @since AND @until')})`,
      )
      .pluck();
    this.#unstored = database.prepare(`SELECT COUNT(*) FROM ${UNSTORED}`).pluck();
    this.#unstoredUpTo = database.prepare(`SELECT COUNT(*) FROM (SELECT 1 FROM ${UNSTORED} LIMIT @most)`).pluck();
  }

  /** On chain, not here, not kept as a custom commitment, and its deadline is over: oldest first; `after`: behind this one. */
  overdue(
    tipMedianSeconds: number,
    limit: number,
    after: QueuedBlob | null = null,
    which: OverdueKind = 'all',
  ): QueuedBlob[] {
    const { reading, seen } = this.#tables;
    return reading('read what is overdue', () => seen.pastDeadline(tipMedianSeconds, limit, after, which));
  }

  /**
   * Every source has answered that it has not got these. They leave the queue until a list names them again. The evidence
   * of it is recorded in the same commit. What a rule left out was never to be archived, and is not lost; neither is what came
   * from elsewhere while the sources answered. Gives those that are recorded.
   */
  record(losses: readonly Loss[]): readonly Loss[] {
    const nowMs = this.#tables.nowMs();
    return this.#tables.transaction('record what is lost', () => {
      // Content that was just revoked and is lost again must not keep evidence of withdrawn occurrences.
      while (this.takeRevoked().length > 0);
      const lost = losses.filter(
        (loss) => !this.#leftOut.has(loss.versionHash) && !this.#tables.content.isHeldAs(loss),
      );
      for (const loss of lost) {
        this.#insert(loss, nowMs);
        this.#tables.seen.remove(loss.versionHash);
        for (const occurrence of this.#chain.occurrences(loss, null, NAMED_OCCURRENCES)) {
          const { path, document } = lossDocumentOf(loss, occurrence, nowMs);
          this.#evidence.put(path, document);
        }
      }
      return lost;
    });
  }

  /**
   * Takes over evidence of a catalog that is no more: what was lost is lost, and what a rule left out is left out, unless the
   * bytes are here. `path` is below `audit/<archiver id>/`. What is known here already is later, and stays.
   */
  adoptEvidence(documents: readonly { readonly path: string; readonly document: string }[]): void {
    this.#tables.transaction('take evidence over', () => {
      for (const { path, document } of documents) {
        const isNew = this.#evidence.adopt(path, document);
        // A later document of the same blocks does not name what this catalog has not walked to yet.
        if (isLeftOutPath(path)) this.#leftOut.adopt(document);
        if (!isNew || !isLossPath(path)) continue;
        const loss = parseLossDocument(document);
        if (loss !== null && loss.revokedAt === null && this.#row(loss) === undefined) this.#adopt(loss);
      }
    });
  }

  #adopt(loss: LossDocument): void {
    this.#insert(loss, Date.parse(loss.recordedAt));
    // A list may have named it again before this was read: what was to be archived, and was lost, is not left out.
    this.#leftOut.letIn(loss);
    this.#leftOut.recordEvidence();
    if (!this.#tables.content.isHeldAs(loss)) return;
    this.#revoke.run(this.#tables.nowMs(), hashKey(loss.versionHash), hashTypeCode(loss.hashType));
  }

  #insert({ versionHash, hashType, upToHeight, deadlineSeconds, answers }: Loss, recordedMs: number): void {
    const code = hashTypeCode(hashType);
    this.#put.run(hashKey(versionHash), code, upToHeight, deadlineSeconds, recordedMs, JSON.stringify(answers));
  }

  #row({ hashType, versionHash }: ContentName): unknown {
    return this.#find.get(hashKey(versionHash), hashTypeCode(hashType));
  }

  find(name: ContentName): RecordedLoss | null {
    return this.#tables.reading('look a loss up', () => {
      const found = this.#row(name);
      return found === undefined ? null : decode(found);
    });
  }

  /** Withheld content does not count: its loss is not checked. */
  count(): number {
    return this.#tables.reading('count losses', () => number.parse(this.#count.get()));
  }

  /** In the order of version hashes. */
  page(after: ContentName | null, limit: number): RecordedLoss[] {
    const key = after === null ? Buffer.alloc(0) : hashKey(after.versionHash);
    return this.#tables.reading('read losses', () => this.#all.all(key, limit).map(decode));
  }

  /**
   * Some of the losses that hold no longer, each given once; their evidence says so from the same commit on. None: that were
   * all.
   */
  takeRevoked(): RevokedLoss[] {
    const rows = this.#tables.reading('look for revoked losses', () => this.#revoked.all());
    if (rows.length === 0) return [];
    return this.#tables.transaction('revoke losses', () =>
      rows.map((value) => {
        const found = revokedRow.parse(value);
        const loss = { ...decode(value), because: found.revoked_because ?? ('bytes-turned-up' as const) };
        const revoked = { revokedAt: new Date(found.revoked_ms).toISOString(), revokedBecause: loss.because };
        this.#sayRevoked(loss, revoked);
        this.#forget.run(hashKey(loss.versionHash), hashTypeCode(loss.hashType));
        return loss;
      }),
    );
  }

  /** A content that is lost again in block after block has ever more evidence: it is gone through page by page. */
  #sayRevoked(loss: ContentName, revoked: Pick<LossDocument, 'revokedAt' | 'revokedBecause'>): void {
    const evidence = this.#evidence;
    for (let after = ''; ; ) {
      const page = evidence.below(lossFolder(loss), after, NAMED_OCCURRENCES);
      const last = page.at(-1);
      if (last === undefined) return;
      for (const { path, document } of page) {
        const before = parseLossDocument(document);
        if (before?.revokedAt === null) evidence.put(path, { ...before, ...revoked });
      }
      after = last.path;
    }
  }

  /**
   * Lateness of content that can still be saved: on chain, with a mediantime from `sinceSeconds` up to `untilSeconds`.
   */
  lateness(sinceSeconds: number, untilSeconds: number): Lateness {
    return this.#tables.reading('count what is late', () => ({
      unspooled: number.parse(this.#unspooled.get({ since: sinceSeconds, until: untilSeconds })),
      unstored: number.parse(this.#unstored.get({ until: untilSeconds })),
    }));
  }

  /** The part of `lateness` that is not here. */
  unspooled(sinceSeconds: number, untilSeconds: number): number {
    return this.#tables.reading('count what is late', () =>
      number.parse(this.#unspooled.get({ since: sinceSeconds, until: untilSeconds })),
    );
  }

  /** The part of `lateness` that is durable here alone, counted no further than `most`. */
  unstored(untilSeconds: number, most: number): number {
    return this.#tables.reading('count what is late', () =>
      number.parse(this.#unstoredUpTo.get({ until: untilSeconds, most })),
    );
  }
}

function decode(value: unknown): RecordedLoss {
  const found = row.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType: hashTypeFrom(found.hash_type),
    upToHeight: found.up_to_height,
    deadlineSeconds: found.deadline_seconds,
    recordedMs: found.recorded_ms,
    answers: z.array(lossAnswer).parse(JSON.parse(found.answers)),
  };
}
