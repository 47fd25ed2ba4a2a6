import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { LeftOutBlob } from '../catalog/left-out-ledger.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import { occurrencePage } from '../chain/occurrence-page.ts';
import { type ContentName, HASH_TYPES, type NamedHash, type TxId } from '../core/blob/ids.ts';
import type { ContentRecord, ListingPage, ListingQuery, RecordLookup, ReplicaRecord } from '../view/archive-view.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { Absence } from './absence.ts';
import { describeLeftOut, describeQueued, failureOf, isoTime } from './content-record.ts';
import { entriesOf } from './entries-of.ts';
import type { Gate } from './gate.ts';
import { decodeCursor, encodeCursor } from './listing-cursor.ts';
import { lostIn } from './recorded-loss.ts';

/** Records of contents without their bytes, one at a time or page by page. */
export class ContentRecords {
  readonly #catalog: Catalog;
  readonly #gate: Gate;
  readonly #absence: Absence;
  readonly #chain: Pick<ChainState, 'finalHeight'>;

  constructor(catalog: Catalog, gate: Gate, absence: Absence, chain: Pick<ChainState, 'finalHeight'>) {
    this.#catalog = catalog;
    this.#gate = gate;
    this.#absence = absence;
    this.#chain = chain;
  }

  async record(name: NamedHash, signal: AbortSignal, occurrencesAfter: string | null): Promise<RecordLookup> {
    const [gate, catalog] = [this.#gate, this.#catalog];
    const [entry] = entriesOf(catalog, name);
    const wanted = catalog.findQueued(name.versionHash);
    if (entry !== undefined) return { kind: 'found', record: this.#describe(entry, wanted, occurrencesAfter) };
    if (wanted !== null) return { kind: 'found', record: this.#describeQueued(wanted, occurrencesAfter) };
    const refusal = gate.refusal(name);
    if (refusal !== null) return refusal;
    const leftOut = catalog.leftOut.find(name.versionHash);
    if (leftOut !== null) return { kind: 'found', record: this.#describeLeftOut(leftOut, occurrencesAfter) };
    return lostIn(catalog, name) ?? (await this.#absence.of(name, signal));
  }

  /** Throws `ArchiveError` `archive/bad-cursor`. */
  list(query: ListingQuery): ListingPage {
    const after = query.after === null ? null : decodeCursor(query.after, query.order);
    const entries = this.#catalog.page(query.order, after, query.limit + 1);
    const shown = entries.slice(0, query.limit);
    const last = shown.at(-1);
    const more = entries.length > shown.length && last !== undefined;
    return {
      records: shown.map((entry) => this.#describe(entry, null, null)),
      next: more ? encodeCursor(last.sequence, query.order) : null,
    };
  }

  #describe(entry: ContentEntry, wanted: QueuedBlob | null, after: string | null): ContentRecord {
    const catalog = this.#catalog;
    return {
      versionHash: entry.versionHash,
      hashType: entry.hashType,
      state: this.#gate.refusal(entry) === null ? entry.state : 'withheld',
      publicReason: catalog.withheld.publicReason(entry),
      rule: null,
      sizeBytes: entry.sizeBytes,
      listedTxid: entry.txid,
      medianTimeSeconds: entry.medianTimeSeconds,
      seenAt: new Date(entry.firstSeenMs).toISOString(),
      spooledAt: isoTime(entry.spooledMs),
      storedAt: isoTime(entry.storedMs),
      givenBy: entry.givenBy,
      replicas: this.#replicasOf(entry),
      lastFailure: wanted === null ? null : failureOf(wanted),
      ...this.#occurrencesOf(entry, entry.txid, after),
    };
  }

  #replicasOf(entry: ContentEntry): ReplicaRecord[] {
    const placements = this.#catalog.placementsOf(entry);
    const leftOut = this.#catalog.replicas
      .leftOutAt(entry)
      .filter((backend) => !placements.some((one) => one.backend === backend));
    return [
      ...placements.map(({ verifiedMs, ...replica }) => ({ ...replica, verifiedAt: isoTime(verifiedMs) })),
      ...leftOut.map((backend) => {
        return { backend, state: 'not-replicated-by-rule' as const, verifiedAt: null, lastFailure: null };
      }),
    ];
  }

  #describeQueued(wanted: QueuedBlob, after: string | null): ContentRecord {
    const { hashType, versionHash, txid } = wanted;
    return {
      ...describeQueued(wanted),
      // Before a block names it, a list has: there is one transaction, and it waits.
      ...this.#occurrencesOf({ hashType: hashType ?? 'keccak256', versionHash }, txid, after),
    };
  }

  #describeLeftOut(leftOut: LeftOutBlob, after: string | null): ContentRecord {
    const { versionHash, txid } = leftOut;
    const hashType = HASH_TYPES.find(
      (type) => this.#catalog.chain.firstHeight({ hashType: type, versionHash }) !== null,
    );
    return {
      ...describeLeftOut(leftOut, hashType ?? null),
      ...this.#occurrencesOf({ hashType: hashType ?? 'keccak256', versionHash }, txid, after),
    };
  }

  #occurrencesOf(name: ContentName, listedTxid: TxId | null, after: string | null) {
    const { finalHeight } = this.#chain;
    const { occurrences, next } = occurrencePage(this.#catalog.chain, name, { finalHeight, listedTxid, after });
    return { occurrences, nextOccurrences: next };
  }
}
