import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ArchiveRule } from '../core/blob/archive-rule.ts';
import { type ContentName, parseTxId, parseVersionHash, type TxId, type VersionHash } from '../core/blob/ids.ts';
import { type Senders, sendersOfAll } from '../core/blob/sender.ts';
import { hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import type { EvidenceOutbox } from './evidence-outbox.ts';
import {
  DOCUMENT_HEIGHTS,
  firstHeightOf,
  type LeftOutDocument,
  leftOutPath,
  parseLeftOutDocument,
} from './left-out-document.ts';
import { decodeSenders } from './occurrence-table.ts';
import { hashKey, type Sighting } from './seen-table.ts';
import type { Tables } from './tables.ts';

/** A blob that a rule of the operator leaves out: it is neither asked for nor held. */
export interface LeftOutBlob {
  readonly versionHash: VersionHash;
  /** null: no list named it. */
  readonly sizeBytes: number | null;
  readonly txid: TxId | null;
  readonly medianTimeSeconds: number;
  readonly sinceMs: number;
  /** The rule that was in force, in a sentence. */
  readonly rule: string;
}

export interface LeftOutSummary {
  /** Blobs that are left out now. */
  readonly count: number;
  /** Since when any is; null: none is. */
  readonly sinceMs: number | null;
}

type NewlyLeftOut = Omit<LeftOutBlob, 'sinceMs' | 'rule'>;

/** A blob as a block names it. */
interface MinedName extends ContentName {
  readonly txid: TxId;
  readonly height: number;
  readonly medianTimeSeconds: number;
  readonly senders?: Senders;
  /** The deadline had passed before the block was walked: no node has the blob. */
  readonly isPast: boolean;
}

/** Three readings of the list: what none of them names is asked for without its size. */
const LIST_PATIENCE_MS = 15_000;
/** Four blocks of a main network. A blob that waits longer for the block that tells its senders is asked for without them. */
const BLOCK_PATIENCE_MS = 600_000;
/** Occurrences of a content whose senders are looked at. With more of them it counts as of unknown senders. */
const MAX_OCCURRENCES = 32;
const FACT = 'left-out';
const summary = z.object({ count: z.number(), sinceMs: z.number().nullable() });
const row = z.object({
  version_hash: z.instanceof(Buffer),
  size_bytes: z.number().nullable(),
  txid: z.instanceof(Buffer).nullable(),
  median_time_seconds: z.number(),
  since_ms: z.number(),
  says: z.string(),
});
const RULES = 'archive-rule';
const SAYS = "json_extract(fact.value, '$') AS says";
const RULE = `CROSS JOIN fact ON fact.name = '${RULES}/' || rule_id`;
const COLUMNS = `version_hash, size_bytes, txid, median_time_seconds, since_ms, ${SAYS}`;
const documentRow = row.pick({ version_hash: true, size_bytes: true, since_ms: true, says: true }).extend({
  hash_type: z.number(),
  senders: z.string().nullable(),
});

/**
 * Blobs that the operator's rule leaves out. They are in no queue, and none of them is missing, absent or lost. A blob that was
 * held once, or was recorded as lost, is never among them: the rule judges what is new. Their names go to the data folder as
 * evidence, for a catalog that is made again could not tell them from losses.
 */
export class LeftOutLedger {
  readonly #tables: Tables;
  readonly #evidence: EvidenceOutbox;
  readonly #rule: ArchiveRule;
  readonly #isAny: Database.Statement;
  readonly #has: Database.Statement;
  /** Left out by an earlier catalog, of a block that this one has still to walk to. */
  readonly #isAwaited: Database.Statement;
  readonly #find: Database.Statement;
  readonly #wasHeldOrLost: Database.Statement;
  readonly #put: Database.Statement;
  readonly #mined: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #heights: Database.Statement;
  readonly #ofHeights: Database.Statement;
  readonly #senders: Database.Statement;
  readonly #forgetUnmined: Database.Statement;
  readonly #unmine: Database.Statement;
  /** Lowest heights of documents that may say what is so no more. A rolled back transaction leaves some that do not. */
  readonly #stale = new Set<number>();

  constructor(tables: Tables, evidence: EvidenceOutbox, rule: ArchiveRule) {
    const { database } = tables;
    this.#tables = tables;
    this.#evidence = evidence;
    this.#rule = rule;
    this.#isAny = database.prepare('SELECT 1 FROM left_out LIMIT 1');
    this.#has = database.prepare('SELECT 1 FROM left_out WHERE version_hash = ?');
    this.#isAwaited = database.prepare(
      `SELECT 1 FROM left_out WHERE version_hash = @key AND unmined = 0
       AND NOT EXISTS (SELECT 1 FROM occurrence WHERE version_hash = @key)`,
    );
    this.#find = database.prepare(`SELECT ${COLUMNS} FROM left_out ${RULE} WHERE version_hash = ?`);
    this.#wasHeldOrLost = database.prepare(
      `SELECT 1 FROM content WHERE version_hash = @key
       UNION ALL SELECT 1 FROM custom WHERE version_hash = @key
       UNION ALL SELECT 1 FROM lost WHERE version_hash = @key AND revoked_ms IS NULL`,
    );
    // A resubmission gives the entry a newer time, and a list the size that a block does not tell.
    this.#put = database.prepare(
      `INSERT INTO left_out (version_hash, size_bytes, txid, median_time_seconds, since_ms, rule_id, unmined)
       VALUES (@key, @sizeBytes, @txid, @median, @sinceMs, @ruleId,
         @isInBlock = 0 AND NOT EXISTS (SELECT 1 FROM occurrence WHERE version_hash = @key))
       ON CONFLICT DO UPDATE SET size_bytes = COALESCE(excluded.size_bytes, size_bytes), txid = excluded.txid,
         median_time_seconds = MAX(median_time_seconds, excluded.median_time_seconds)`,
    );
    this.#mined = database.prepare(
      `UPDATE left_out SET unmined = 0, median_time_seconds = MAX(median_time_seconds, @median) WHERE version_hash = @key`,
    );
    this.#remove = database.prepare('DELETE FROM left_out WHERE version_hash = ?');
    this.#heights = database
      .prepare(`SELECT DISTINCT height - height % ${DOCUMENT_HEIGHTS} FROM occurrence WHERE version_hash = ?`)
      .pluck();
    this.#ofHeights = database.prepare(
      `SELECT DISTINCT left_out.version_hash, occurrence.hash_type, size_bytes, since_ms, senders, ${SAYS}
       FROM occurrence NOT INDEXED CROSS JOIN left_out ON left_out.version_hash = occurrence.version_hash
       ${RULE} WHERE height BETWEEN ? AND ? ORDER BY 1, 2, 5`,
    );
    this.#senders = database
      .prepare(`SELECT senders FROM occurrence WHERE version_hash = ? LIMIT ${MAX_OCCURRENCES + 1}`)
      .pluck();
    this.#forgetUnmined = database.prepare(
      `DELETE FROM left_out WHERE version_hash IN
         (SELECT version_hash FROM left_out WHERE unmined = 1 AND median_time_seconds < ? LIMIT ?)`,
    );
    this.#unmine = database.prepare(
      `UPDATE left_out SET unmined = 1
       WHERE version_hash = @key AND NOT EXISTS (SELECT 1 FROM occurrence WHERE version_hash = @key)`,
    );
  }

  /** The rule in force in a sentence; null: everything is archived. */
  get rule(): string | null {
    return this.#rule.says;
  }

  get summary(): LeftOutSummary {
    return this.#tables.reading('count what a rule left out', () => this.#summary());
  }

  has(versionHash: VersionHash): boolean {
    return this.#tables.reading('look up what a rule left out', () => this.#isLeftOut(versionHash));
  }

  find(versionHash: VersionHash): LeftOutBlob | null {
    return this.#tables.reading('look up what a rule left out', () => {
      const found = this.#find.get(hashKey(versionHash));
      return found === undefined ? null : decode(found);
    });
  }

  /**
   * Whether a list tells a size by which a blob would not be left out, though it is: an earlier reading, or another node, told a
   * larger one.
   */
  isContradicted({ versionHash, sizeBytes }: Pick<Sighting, 'versionHash' | 'sizeBytes'>): boolean {
    if (this.#rule.says === null || !this.has(versionHash)) return false;
    const told = this.find(versionHash)?.sizeBytes ?? 0;
    return told > sizeBytes && !this.#rule.leavesOut(versionHash, sizeBytes, this.#sendersIn(versionHash));
  }

  /**
   * Gives a listed blob as it is to be queued; null: it is left out. One that an earlier rule left out, and this one does not, is
   * left out no more: the node has it still. Of two sizes that lists told, the smaller one counts: better one blob too many than
   * one too few. The caller owns the transaction, and `recordEvidence` is to follow.
   */
  judgeListed(sighting: Sighting): Sighting | null {
    const { versionHash, txid, medianTimeSeconds } = sighting;
    const sizeBytes = this.#rule.says === null ? sighting.sizeBytes : this.#smallestOf(sighting);
    if (!this.#rule.leavesOut(versionHash, sizeBytes, this.#sendersIn(versionHash))) {
      this.letIn(sighting);
      return { ...sighting, sizeBytes };
    }
    return this.#leaveOut({ versionHash, sizeBytes, txid, medianTimeSeconds }, false) ? null : sighting;
  }

  #smallestOf({ versionHash, sizeBytes }: Sighting): number {
    const queued = this.#tables.seen.find(versionHash);
    return queued === null || queued.sizeIsBound ? sizeBytes : Math.min(queued.sizeBytes, sizeBytes);
  }

  /**
   * Whether a blob that a block names is left out, for a list did so, or the rule does without its size. Within the
   * transaction that records the block, before its occurrence; `recordEvidence` is to follow. One that was left out because
   * of its senders is left out no more when another sender brings it into a block: the node has it then.
   */
  judgeMined(mined: MinedName): boolean {
    const { versionHash, txid, height, medianTimeSeconds, senders = null, isPast } = mined;
    const sizeBytes = this.#rule.needsSenders ? this.#sizeOf(versionHash) : null;
    const isLeftOut = this.#rule.leavesOut(versionHash, sizeBytes, this.#sendersIn(versionHash, senders));
    // Senders that were not learned let nothing in that no node has.
    const isUnsaid = isPast && (senders === null || this.#rule.leavesOut(versionHash, sizeBytes, senders));
    if (isLeftOut || isUnsaid || !this.#rule.needsSenders) {
      if (this.noteMined(mined)) return true;
    } else if (this.#isLeftOut(versionHash)) {
      // The occurrence is not recorded yet, and an earlier document of this block may name the blob.
      this.#stale.add(firstHeightOf(height));
      this.letIn(mined);
    }
    if (!isLeftOut || !this.#leaveOut({ versionHash, sizeBytes, txid, medianTimeSeconds }, true)) return false;
    this.#stale.add(firstHeightOf(height));
    return true;
  }

  /** Whether the senders of another block decide about it again: a block had it, and its senders left it out. */
  waitsForOtherSenders(versionHash: VersionHash): boolean {
    return this.#tables.reading('look up what a rule left out', () => {
      return this.#rule.needsSenders && this.#isLeftOut(versionHash) && this.#isMined(versionHash);
    });
  }

  /** A block has it, of history perhaps: it is no spam that is forgotten. false: it is not left out. As `judgeMined`. */
  noteMined({ versionHash, height, medianTimeSeconds }: Omit<MinedName, 'txid' | 'isPast'>): boolean {
    if (!this.#isLeftOut(versionHash)) return false;
    this.#mined.run({ key: hashKey(versionHash), median: medianTimeSeconds });
    this.#stale.add(firstHeightOf(height));
    return true;
  }

  /**
   * Blocks of these heights that had it were taken back: unless another one has it, no block has. Within that transaction;
   * `recordEvidence` is to follow.
   */
  leaveBlocks(versionHash: VersionHash, heights: readonly number[]): void {
    if (!this.#isLeftOut(versionHash)) return;
    this.#unmine.run({ key: hashKey(versionHash) });
    for (const height of heights) this.#stale.add(firstHeightOf(height));
  }

  /** When a blob that a list names is asked for: the block that it waits for tells its senders, which may leave it out. */
  askListedAfterMs({ versionHash, sizeBytes, mayWait = false }: Sighting, nowMs: number): number {
    const waits = mayWait && this.#rule.waitsForSenders(versionHash, sizeBytes) && !this.#isMined(versionHash);
    return waits ? nowMs + BLOCK_PATIENCE_MS : 0;
  }

  /**
   * When a blob that no list has named yet is asked for: a list that tells its size may leave it out. Its occurrence is recorded
   * already.
   */
  askAfterMs({ versionHash }: Pick<ContentName, 'versionHash'>, nowMs: number): number {
    return this.#rule.waitsForSize(versionHash, this.#sendersIn(versionHash)) ? nowMs + LIST_PATIENCE_MS : 0;
  }

  /**
   * Writes the evidence of what was left out since the last call, or is so no more: each document once. Within the transaction
   * that made it so.
   */
  recordEvidence(): void {
    for (const from of this.#stale) this.#putDocument(from, []);
    this.#stale.clear();
  }

  /**
   * Takes over what an earlier catalog wrote. What is held, or was lost, is not left out, nor is what the node lists now and the
   * rule in force archives. Within a transaction.
   */
  adopt(document: string): void {
    const earlier = parseLeftOutDocument(document);
    if (earlier === null) return;
    for (const { versionHash, sizeBytes, rule, at } of earlier.blobs) {
      if (this.#isLeftOut(versionHash) || this.#wasHeldOrLost.get({ key: hashKey(versionHash) }) !== undefined)
        continue;
      const queued = this.#tables.seen.find(versionHash);
      const isListed = queued !== null && !queued.sizeIsBound;
      if (isListed && !this.#rule.leavesOut(versionHash, queued.sizeBytes)) continue;
      const { txid = null, medianTimeSeconds = 0 } = queued ?? {};
      this.#insert({ versionHash, sizeBytes, txid, medianTimeSeconds }, rule, Date.parse(at), true);
    }
    // This catalog may have written of these blocks before it had read the earlier document.
    this.#putDocument(earlier.from, earlier.blobs);
  }

  /**
   * Within the transaction that says that its bytes are here, or were lost: it is archived, whatever the rule says.
   * `recordEvidence` is to follow.
   */
  letIn({ versionHash }: Pick<ContentName, 'versionHash'>): void {
    if (!this.#isLeftOut(versionHash)) return;
    this.#remove.run(hashKey(versionHash));
    this.#count(-1);
    this.#changed(versionHash);
  }

  /** Forgets blobs that were never mined, of before this time of the chain. Within a transaction. Gives how many rows went. */
  forgetUnmined(medianTimeSeconds: number, limit: number): number {
    const gone = this.#forgetUnmined.run(medianTimeSeconds, limit).changes;
    this.#count(-gone);
    return gone;
  }

  /** `told`: what is named in an earlier document as well. */
  #putDocument(from: number, told: LeftOutDocument['blobs']): void {
    const to = from + DOCUMENT_HEIGHTS - 1;
    const path = leftOutPath(from);
    // A catalog that is made again knows names by an earlier document before it has walked to their blocks. Once it has walked to
    // one, the blocks tell which documents name the blob: one that was taken back has it no more.
    const before = parseLeftOutDocument(this.#evidence.textOf(path) ?? '')?.blobs ?? [];
    const known = [...told, ...before].filter(
      ({ versionHash }) => this.#isAwaited.get({ key: hashKey(versionHash) }) !== undefined,
    );
    const walked = this.#ofHeights.all(from, to).map(namedInDocument);
    const byName = [...known, ...walked].map((blob) => [`${blob.hashType} ${blob.versionHash}`, blob] as const);
    this.#evidence.put(path, { format: 1, from, to, blobs: [...new Map(byName).values()] } satisfies LeftOutDocument);
  }

  /** Senders of all its occurrences, and of the transaction that is about to be one. null: unknown, or the rule needs none. */
  #sendersIn(versionHash: VersionHash, ...next: readonly Senders[]): Senders {
    if (!this.#rule.needsSenders) return null;
    const known = z
      .array(z.string().nullable())
      .parse(this.#senders.all(hashKey(versionHash)))
      .map(decodeSenders);
    const each = [...known, ...next];
    return each.length === 0 || known.length > MAX_OCCURRENCES ? null : sendersOfAll(each);
  }

  #isMined(versionHash: VersionHash): boolean {
    return this.#senders.get(hashKey(versionHash)) !== undefined;
  }

  /** null: no list told it. */
  #sizeOf(versionHash: VersionHash): number | null {
    const queued = this.#tables.seen.find(versionHash);
    if (queued !== null && !queued.sizeIsBound) return queued.sizeBytes;
    return this.#isLeftOut(versionHash) ? (this.find(versionHash)?.sizeBytes ?? null) : null;
  }

  #isLeftOut(versionHash: VersionHash): boolean {
    // Most archives have no rule, and every block asks this.
    return this.#isAny.get() !== undefined && this.#has.get(hashKey(versionHash)) !== undefined;
  }

  #leaveOut(blob: NewlyLeftOut, isInBlock: boolean): boolean {
    if (this.#wasHeldOrLost.get({ key: hashKey(blob.versionHash) }) !== undefined) return false;
    const isNew = !this.#isLeftOut(blob.versionHash);
    this.#insert(blob, this.#rule.says ?? '', this.#tables.nowMs(), isInBlock);
    // A block may have named it before a list told its size.
    if (isNew) this.#changed(blob.versionHash);
    return true;
  }

  #insert(blob: NewlyLeftOut, says: string, sinceMs: number, isInBlock: boolean): void {
    const { versionHash, sizeBytes, medianTimeSeconds: median } = blob;
    const isNew = !this.#isLeftOut(versionHash);
    const txid = blob.txid === null ? null : hashKey(blob.txid);
    const ruleId = this.#ruleId(says);
    this.#put.run({
      key: hashKey(versionHash),
      sizeBytes,
      txid,
      median,
      sinceMs,
      ruleId,
      isInBlock: isInBlock ? 1 : 0,
    });
    this.#tables.seen.remove(versionHash);
    if (isNew) this.#count(1);
  }

  /** Rules are few: one more each time that the operator changes it. */
  #ruleId(says: string): number {
    const { facts } = this.#tables;
    const known = facts.below(RULES, z.string());
    for (const [id, text] of known) if (text === says) return Number(id);
    facts.put(`${RULES}/${known.size + 1}`, says);
    return known.size + 1;
  }

  #changed(versionHash: VersionHash): void {
    for (const from of z.array(z.number()).parse(this.#heights.all(hashKey(versionHash)))) this.#stale.add(from);
  }

  #summary(): LeftOutSummary {
    return this.#tables.facts.get(FACT, summary) ?? { count: 0, sinceMs: null };
  }

  /** Beside the rows, for they may be millions, and every status asks. */
  #count(added: number): void {
    const before = this.#summary();
    const count = before.count + added;
    const sinceMs = count === 0 ? null : (before.sinceMs ?? this.#tables.nowMs());
    this.#tables.facts.put(FACT, { count, sinceMs } satisfies LeftOutSummary);
  }
}

function namedInDocument(value: unknown): LeftOutDocument['blobs'][number] {
  const found = documentRow.parse(value);
  return {
    hashType: hashTypeFrom(found.hash_type),
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    sizeBytes: found.size_bytes,
    ...(found.senders === null ? {} : { senders: found.senders.split(',') }),
    rule: found.says,
    at: new Date(found.since_ms).toISOString(),
  };
}

function decode(value: unknown): LeftOutBlob {
  const found = row.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    sizeBytes: found.size_bytes,
    txid: found.txid === null ? null : parseTxId(found.txid.toString('hex')),
    medianTimeSeconds: found.median_time_seconds,
    sinceMs: found.since_ms,
    rule: found.says,
  };
}
