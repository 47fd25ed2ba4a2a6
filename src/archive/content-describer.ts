import type { ContentName, TxId } from '../blob/ids.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { WantedBlob } from '../catalog/wanted-table.ts';
import type { ContentRecord } from './archive-view.ts';
import type { ChainFollowing } from './chain/chain-following.ts';
import { describeWanted, failureOf, isoTime } from './content-record.ts';

/** Puts together what is known of one content: its state, where it lies, and where it is on chain. */
export class ContentDescriber {
  readonly #catalog: Catalog;
  readonly #chain: Pick<ChainFollowing, 'occurrences'>;

  constructor(catalog: Catalog, chain: Pick<ChainFollowing, 'occurrences'>) {
    this.#catalog = catalog;
    this.#chain = chain;
  }

  /** `after`: the end of the page of occurrences before; null: the first page. */
  describe(entry: ContentEntry, wanted: WantedBlob | null, after: string | null): ContentRecord {
    const replicas = this.#catalog.placementsOf(entry);
    return {
      versionHash: entry.versionHash,
      hashType: entry.hashType,
      state: entry.state,
      sizeBytes: entry.sizeBytes,
      listedTxid: entry.txid,
      medianTimeSeconds: entry.medianTimeSeconds,
      seenAt: new Date(entry.firstSeenMs).toISOString(),
      spooledAt: isoTime(entry.spooledMs),
      storedAt: isoTime(entry.storedMs),
      replicas: replicas.map(({ backend, state, verifiedMs }) => ({ backend, state, verifiedAt: isoTime(verifiedMs) })),
      lastFailure: wanted === null ? null : failureOf(wanted),
      ...this.#occurrencesOf(entry, entry.txid, after),
    };
  }

  describeWanted(wanted: WantedBlob, after: string | null): ContentRecord {
    const { hashType, versionHash, txid } = wanted;
    return {
      ...describeWanted(wanted),
      // Before a block names it, a list has: there is one transaction, and it waits.
      ...this.#occurrencesOf({ hashType: hashType ?? 'keccak256', versionHash }, txid, after),
    };
  }

  #occurrencesOf(name: ContentName, txid: TxId | null, after: string | null) {
    const { occurrences, next } = this.#chain.occurrences(name, txid, after);
    return { occurrences, nextOccurrences: next };
  }
}
