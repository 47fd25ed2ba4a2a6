import type { Catalog } from '../catalog/catalog.ts';
import { AFTER_ALL_SECONDS } from '../catalog/content-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { Holding } from '../verify/inventory.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import type { DifferentRange } from './compare-inventories.ts';
import { type InventoryOccurrence, occurrencesIn } from './inventory-occurrence.ts';
import type { ComparisonTally, Peer } from './peer.ts';

/** The number of blobs that a peer says it holds and does not give, which ends the comparison. */
export const MAX_NOT_GIVEN = 8;

/** Fetches blobs that the inventory of a peer claims. Bytes count by their hash. */
export class PeerClaims {
  readonly #catalog: Catalog;
  readonly #spooler: Pick<Spooler, 'spool'>;

  constructor(catalog: Catalog, spooler: Pick<Spooler, 'spool'>) {
    this.#catalog = catalog;
    this.#spooler = spooler;
  }

  /** Asks the peer for what it says it holds and this archive does not, until it gave too little. */
  async settle(peer: Peer, range: DifferentRange, tally: ComparisonTally, signal: AbortSignal): Promise<void> {
    tally.onlyHere += range.ours.filter((held, at) => held === 'stored' && isWanting(range.theirs[at])).length;
    const claimed = this.#claimedIn(range);
    tally.onlyThere += claimed.length;
    for (const one of claimed) {
      if (tally.notGiven >= MAX_NOT_GIVEN || peer.isResting) return;
      const answer = await this.#fetch(peer, one, signal);
      if (answer === 'absent') tally.notGiven += 1;
      else if (answer === 'fetched') tally.fetched += 1;
    }
  }

  /** In the order of the chain, as both sides list them; empty where the chain was walked again meanwhile. */
  #claimedIn({ from, to, ours, theirs }: DifferentRange): InventoryOccurrence[] {
    const snapshot = this.#catalog.snapshot();
    try {
      const found: (InventoryOccurrence | null)[] = [];
      for (const step of snapshot.inventory(from, to))
        for (const block of step)
          for (const read of occurrencesIn(block)) {
            const isClaimed = isWanting(ours[found.length]) && theirs[found.length] === 'stored';
            found.push(isClaimed ? read() : null);
          }
      return found.length === ours.length ? found.filter((one) => one !== null) : [];
    } finally {
      snapshot.close();
    }
  }

  async #fetch(
    peer: Peer,
    claimed: InventoryOccurrence,
    signal: AbortSignal,
  ): Promise<'fetched' | 'absent' | 'not-now'> {
    const [catalog, spooler] = [this.#catalog, this.#spooler];
    const { hashType, versionHash, txid, height } = claimed;
    // The blob may have come meanwhile, by another occurrence too, or have been taken down.
    const isHeld = catalog.find(versionHash).some((entry) => entry.hashType === hashType && entry.state !== 'seen');
    if (isHeld || catalog.withheld.has(claimed)) return 'not-now';
    const blob = await peer.claim({ hashType, versionHash }, signal);
    // The inventory of the peer says `stored`: a rule is no reason then.
    if (blob === 'absent' || blob === 'not-archived-by-rule') return 'absent';
    if (blob === null || typeof blob === 'string') return 'not-now';
    try {
      const wanted = catalog.findQueued(versionHash);
      const past = { medianTimeSeconds: null, dueSeconds: AFTER_ALL_SECONDS + height };
      const row = wanted ?? { txid, firstSeenMs: catalog.nowMs(), ...past };
      await spooler.spool(blob, { ...row, sizeBytes: blob.bytes.length }, signal);
      catalog.recordGiver({ hashType, versionHash }, peer.name);
      return 'fetched';
    } catch (error) {
      if (!isForLater(error)) throw error;
      return 'not-now';
    } finally {
      forgetBytes(blob);
    }
  }
}

function isWanting(holding: Holding | undefined): boolean {
  return holding === 'missing' || holding === 'lost';
}
