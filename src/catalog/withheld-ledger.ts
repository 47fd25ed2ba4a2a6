import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, HASH_TYPES, type HashType, type NamedHash, parseVersionHash } from '../core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import type { ChainIndex } from './chain-index.ts';
import type { ContentEntry } from './content-table.ts';
import type { CustomLedger } from './custom-ledger.ts';
import type { EvidenceOutbox } from './evidence-outbox.ts';
import type { ReplicaLedger } from './replica-ledger.ts';
import { hashKey } from './seen-table.ts';
import type { Tables } from './tables.ts';
import { withheldPath } from './withheld-document.ts';

/** One take-down, by one archiver. */
export interface WithheldEntry extends ContentName {
  /** Author of the record: an archiver id, or `file` for the configured list. */
  readonly archiver: string;
  /** For operators: it is shown on no public route. */
  readonly reason: string;
  /** For everybody who asks for the blob; null: nothing was given for publication. */
  readonly publicReason: string | null;
  readonly atMs: number;
  /** Whether its bytes are deleted wherever that is allowed. */
  readonly purge: boolean;
}

export interface WithheldSummary {
  /** Number of withheld contents. */
  readonly count: number;
  /** Authors of the take-downs in force. */
  readonly archivers: readonly string[];
}

const row = z.object({
  version_hash: z.instanceof(Buffer),
  hash_type: z.number(),
  archiver: z.string(),
  reason: z.string(),
  public_reason: z.string().nullable(),
  at_ms: z.number(),
  purge: z.number(),
});
const COLUMNS = 'version_hash, hash_type, archiver, reason, public_reason, at_ms, purge';

/** Take-downs. Triggers of the schema keep them out of every queue; the names are few, and held in memory. */
export class WithheldLedger {
  readonly #tables: Tables;
  readonly #outbox: EvidenceOutbox;
  readonly #replicas: Pick<ReplicaLedger, 'recordAbsentHere'>;
  readonly #chain: Pick<ChainIndex, 'queueAgain'>;
  readonly #custom: Pick<CustomLedger, 'forget'>;
  readonly #all: Database.Statement;
  readonly #put: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #any: Database.Statement;
  #byHash: ReadonlyMap<string, readonly WithheldEntry[]>;
  #summary: WithheldSummary;

  constructor(
    tables: Tables,
    evidence: EvidenceOutbox,
    replicas: Pick<ReplicaLedger, 'recordAbsentHere'>,
    chain: Pick<ChainIndex, 'queueAgain'>,
    custom: Pick<CustomLedger, 'forget'>,
  ) {
    const { database } = tables;
    this.#tables = tables;
    this.#outbox = evidence;
    this.#replicas = replicas;
    this.#chain = chain;
    this.#custom = custom;
    this.#all = database.prepare(`SELECT ${COLUMNS} FROM withheld ORDER BY at_ms, version_hash, hash_type, archiver`);
    this.#put = database.prepare(
      `INSERT INTO withheld (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET reason = excluded.reason, public_reason = excluded.public_reason, purge = MAX(purge, excluded.purge)`,
    );
    this.#remove = database.prepare('DELETE FROM withheld WHERE version_hash = ? AND hash_type = ? AND archiver = ?');
    this.#any = database.prepare('SELECT 1 FROM withheld WHERE version_hash = ? AND hash_type = ? LIMIT 1');
    this.#byHash = this.#read();
    this.#summary = summaryOf(this.#byHash);
  }

  /** In the order of their times. */
  list(): WithheldEntry[] {
    return [...this.#byHash.values()].flat().toSorted((a, b) => a.atMs - b.atMs);
  }

  /** Every take-down of a name that is in force; without a hash type, of either. From memory. */
  find({ versionHash, hashType }: NamedHash): readonly WithheldEntry[] {
    const found = this.#byHash.get(versionHash) ?? [];
    return hashType === null ? found : found.filter((entry) => entry.hashType === hashType);
  }

  has(name: NamedHash): boolean {
    // Every answer asks this first, and mostly no name is withheld.
    return this.#byHash.has(name.versionHash) && this.find(name).length > 0;
  }

  /** Reports whether a take-down in force says that its bytes are to be deleted. */
  isToBePurged(name: NamedHash): boolean {
    return this.find(name).some(({ purge }) => purge);
  }

  /** Reason published by the first archiver that published one; null: none did. */
  publicReason(name: NamedHash): string | null {
    return this.find(name).find(({ publicReason }) => publicReason !== null)?.publicReason ?? null;
  }

  /** Every status needs this, and a bucket may name a hundred thousand: the summary is computed on changes. */
  get summary(): WithheldSummary {
    return this.#summary;
  }

  /**
   * Withholds these. `evidence`: the archiver of the entries is this one, and its record goes to every backend. One
   * commit; again is nothing new, and never takes a purge back.
   */
  record(entries: readonly WithheldEntry[], evidence: boolean): void {
    if (entries.length === 0) return;
    this.#tables.transaction('record what is withheld', () => {
      for (const entry of entries) {
        const { versionHash, hashType, archiver, reason, publicReason, atMs, purge } = entry;
        // Before the row: what keeps it out of the books keeps its placements from being looked for as well.
        if (!this.has(entry)) this.#takeOut(entry);
        this.#put.run(
          hashKey(versionHash),
          hashTypeCode(hashType),
          archiver,
          reason,
          publicReason,
          atMs,
          purge ? 1 : 0,
        );
        // The take-down is as old as its first record, and its purge is not taken back.
        const first = this.find(entry).find((one) => one.archiver === archiver);
        const said = { ...entry, atMs: first?.atMs ?? atMs, purge: purge || first?.purge === true };
        if (evidence) this.#evidence(said, null);
      }
    });
    this.#readAgain();
  }

  /** Ends take-downs of these archivers. Returns the names that are no longer withheld: they are queued again. */
  revoke(entries: readonly WithheldEntry[], evidence: boolean, nowMs: number): ContentName[] {
    if (entries.length === 0) return [];
    const left = this.#tables.transaction('record what is withheld no more', () => {
      for (const entry of entries) {
        this.#remove.run(hashKey(entry.versionHash), hashTypeCode(entry.hashType), entry.archiver);
        if (evidence) this.#evidence(entry, nowMs);
      }
      const named = new Map(
        entries.map(({ hashType, versionHash }) => [`${hashType}/${versionHash}`, { hashType, versionHash }]),
      );
      // The table is asked, for memory still has the rows that were just deleted.
      const free = [...named.values()].filter(
        ({ hashType, versionHash }) => this.#any.get(hashKey(versionHash), hashTypeCode(hashType)) === undefined,
      );
      for (const name of free) this.#letIn(name);
      return free;
    });
    this.#readAgain();
    return left;
  }

  /** The hash types that a name can mean: the known ones, else both. */
  typesOf({ versionHash, hashType }: NamedHash, onChain: readonly HashType[]): readonly HashType[] {
    if (hashType !== null) return [hashType];
    const known = HASH_TYPES.filter(
      (type) => onChain.includes(type) || this.#entryOf({ versionHash, hashType: type }) !== null,
    );
    return known.length > 0 ? known : HASH_TYPES;
  }

  #entryOf({ hashType, versionHash }: ContentName): ContentEntry | null {
    return this.#tables.content.find(versionHash).find((entry) => entry.hashType === hashType) ?? null;
  }

  /** Nothing of it is held, queued or placed any more. */
  #takeOut(name: ContentName): void {
    const { seen, placements, content } = this.#tables;
    const custom = this.#custom;
    seen.remove(name.versionHash);
    custom.forget(name.versionHash);
    const entry = this.#entryOf(name);
    if (entry === null) return;
    placements.forget(entry.sequence);
    if (entry.state === 'seen') return;
    content.setState(entry.sequence, 'seen', null);
  }

  /** Nothing is held of it until it is found: every backend is to get it, and what is on chain is fetched again. */
  #letIn(name: ContentName): void {
    const { placements, recount } = this.#tables;
    const replicas = this.#replicas;
    const chain = this.#chain;
    const entry = this.#entryOf(name);
    if (entry !== null) {
      placements.want(entry.sequence, entry.medianTimeSeconds ?? 0, entry.isUnmined);
      replicas.recordAbsentHere(entry);
      recount(entry);
    }
    chain.queueAgain(name);
  }

  #evidence(entry: WithheldEntry, revokedMs: number | null): void {
    const { hashType, versionHash, reason, publicReason, atMs, purge } = entry;
    this.#outbox.put(withheldPath({ hashType, versionHash }), {
      format: 1,
      hashType,
      versionHash,
      reason,
      ...(publicReason === null ? {} : { publicReason }),
      ...(purge ? { purge } : {}),
      at: new Date(atMs).toISOString(),
      revokedAt: revokedMs === null ? null : new Date(revokedMs).toISOString(),
    });
  }

  #readAgain(): void {
    this.#byHash = this.#read();
    this.#summary = summaryOf(this.#byHash);
  }

  #read(): ReadonlyMap<string, readonly WithheldEntry[]> {
    const entries = this.#tables.reading('read what is withheld', () => this.#all.all().map(decode));
    return Map.groupBy(entries, ({ versionHash }) => versionHash);
  }
}

function summaryOf(byHash: ReadonlyMap<string, readonly WithheldEntry[]>): WithheldSummary {
  const archivers = new Set<string>();
  let count = 0;
  for (const entries of byHash.values()) {
    count += new Set(entries.map(({ hashType }) => hashType)).size;
    for (const { archiver } of entries) archivers.add(archiver);
  }
  return { count, archivers: [...archivers] };
}

function decode(value: unknown): WithheldEntry {
  const found = row.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType: hashTypeFrom(found.hash_type),
    archiver: found.archiver,
    reason: found.reason,
    publicReason: found.public_reason,
    atMs: found.at_ms,
    purge: found.purge === 1,
  };
}
