import type { Catalog } from '../catalog/catalog.ts';
import type { Loss } from '../catalog/loss-document.ts';
import type { OverdueKind } from '../catalog/seen-table.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Activity } from '../view/activity.ts';
import type { ChainState } from '../view/chain-state.ts';

/** The conditions under which a blob may be called lost. The judge of the window and a backfill record losses by them alone. */
export class LossRule {
  readonly #catalog: Catalog;
  readonly #poller: Pick<Poller, 'state' | 'isListCurrent' | 'isListed'>;
  readonly #chain: Pick<ChainState, 'isWalked'>;
  readonly #activity: Pick<Activity, 'emit'>;
  readonly #catalogRebuild: { readonly isIndexed: boolean };

  constructor(
    catalog: Catalog,
    poller: Pick<Poller, 'state' | 'isListCurrent' | 'isListed'>,
    chain: Pick<ChainState, 'isWalked'>,
    activity: Pick<Activity, 'emit'>,
    catalogRebuild: { readonly isIndexed: boolean },
  ) {
    this.#catalog = catalog;
    this.#poller = poller;
    this.#chain = chain;
    this.#activity = activity;
    this.#catalogRebuild = catalogRebuild;
  }

  /** Mediantime of the newest tip, whether blobs may be judged by it or not; null: no node has named one. */
  get clockSeconds(): number | null {
    return this.#poller.state.tip?.medianTimeSeconds ?? null;
  }

  /**
   * Kind of blobs past their deadline that is told of. A new catalog does not know yet which blobs of history are here, or what a rule
   * left out. What it knew while its window was open is told of all the same.
   */
  get toldOverdue(): OverdueKind {
    return this.#catalogRebuild.isIndexed && this.#catalog.evidence.isTakenOver ? 'all' : 'known-in-time';
  }

  /**
   * Mediantime by which blobs are judged now; null: none may be. A node that catches up lacks blobs that it will have, and a
   * new catalog does not know yet what a rule left out.
   */
  tipSeconds(): number | null {
    if (!this.#catalog.evidence.isTakenOver) return null;
    const { tip } = this.#poller.state;
    return tip !== null && this.#poller.isListCurrent() && this.#chain.isWalked ? tip.medianTimeSeconds : null;
  }

  /** Reports whether the node still lists the blob, which is not lost then. */
  isListed(versionHash: VersionHash): boolean {
    return this.#poller.isListed(versionHash);
  }

  /**
   * Records what still is lost. While the sources answered, a node may have begun to catch up, and the branch may have changed.
   * A list may have named the blob again, or a size that a rule leaves out. A blob that was taken down, or that is kept apart
   * as custom bytes, is not lost. Gives those recorded.
   */
  record(losses: readonly Loss[]): readonly Loss[] {
    if (this.tipSeconds() === null) return [];
    const { chain, withheld, leftOut, custom, losses: ledger } = this.#catalog;
    const missing = losses.filter(
      (loss) =>
        chain.lastHeight(loss) === loss.upToHeight &&
        !this.isListed(loss.versionHash) &&
        !withheld.has(loss) &&
        !leftOut.has(loss.versionHash) &&
        !custom.has(loss.versionHash),
    );
    const lost = missing.length > 0 ? ledger.record(missing) : [];
    for (const { hashType, versionHash } of lost) this.#activity.emit('lost', { hashType, versionHash });
    return lost;
  }
}
