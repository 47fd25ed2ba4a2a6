import type { Catalog } from '../../catalog/catalog.ts';
import type { VersionHash } from '../../core/blob/ids.ts';
import type { Poller } from '../../ingest/poller.ts';
import type { ChainState, NotCurrent } from '../../view/chain-state.ts';
import type { ChainUnavailable } from '../../view/chain-view.ts';
import { recordedLoss } from '../recorded-loss.ts';
import { chainUnavailable } from './chain-unavailable.ts';

const NOT_CURRENT: Readonly<Record<NotCurrent, string>> = {
  'walk-behind': 'The chain is not walked to its end.',
  'finality-unknown': 'The node fails when it is asked what is final.',
  'not-compared': 'Not every configured node was asked yet whether it follows the walked branch.',
};

/** The reasons for which the walk does not have what exists: while there is one, nothing is said to be absent. */
export class Doubts {
  readonly #catalog: Catalog;
  readonly #catalogRebuild: { readonly isDone: boolean };
  readonly #poller: Pick<Poller, 'isListCurrent'>;
  readonly #chain: Pick<ChainState, 'whyNotCurrent' | 'hasConflict' | 'lacksHistory'>;

  constructor(
    catalog: Catalog,
    catalogRebuild: { readonly isDone: boolean },
    poller: Pick<Poller, 'isListCurrent'>,
    chain: Pick<ChainState, 'whyNotCurrent' | 'hasConflict' | 'lacksHistory'>,
  ) {
    this.#catalog = catalog;
    this.#catalogRebuild = catalogRebuild;
    this.#poller = poller;
    this.#chain = chain;
  }

  /** While this says why, a block that is not walked can hold what is asked for. */
  whyNotAbsent(): ChainUnavailable | null {
    return this.whyNotCurrent() ?? this.#whyConflict();
  }

  #whyConflict(): ChainUnavailable | null {
    if (!this.#chain.hasConflict) return null;
    return chainUnavailable('conflict', 'The configured nodes follow different branches.', 30);
  }

  whyNoHistory(): ChainUnavailable | null {
    if (!this.#chain.lacksHistory) return null;
    return chainUnavailable('rebuilding', 'The catalog is new, and older blocks are still being walked.', 30);
  }

  /** Held, and perhaps final in a block that this catalog, being new, has not walked yet. */
  whyHistory(hashes: readonly VersionHash[]): ChainUnavailable | null {
    const [chain, catalog] = [this.#chain, this.#catalog];
    if (!chain.lacksHistory) return null;
    const held = hashes.find((versionHash) => catalog.find(versionHash).some(({ state }) => state !== 'seen'));
    if (held === undefined) return null;
    return chainUnavailable('rebuilding', `The blocks that may hold ${held} are being walked: the catalog is new.`, 30);
  }

  /** Known, not lost, and not on as many backends as are required: it can be any moment. */
  whyNotPlaced(hashes: readonly VersionHash[]): ChainUnavailable | null {
    const catalog = this.#catalog;
    for (const versionHash of hashes) {
      if (recordedLoss(catalog, { versionHash, hashType: null }) !== null) continue;
      const known = catalog.find(versionHash);
      if (known.some(({ state }) => state === 'stored') || catalog.custom.has(versionHash)) continue;
      // The blob stays out of every other place until a block has it: `false` is right, for the walk is current.
      if (known.length > 0 && known.every(({ state, isUnmined }) => isUnmined && state !== 'seen')) continue;
      if (known.length > 0 || catalog.findQueued(versionHash) !== null) {
        return chainUnavailable('not-placed', `The blob ${versionHash} is known, and not stored yet.`, 10);
      }
    }
    return null;
  }

  /** While this says why, what no block named can still be in one. */
  whyNotCurrent(): ChainUnavailable | null {
    if (!this.#catalogRebuild.isDone) return chainUnavailable('rebuilding', 'The catalog is being rebuilt.', 30);
    if (!this.#poller.isListCurrent())
      return chainUnavailable('walk-behind', 'The node has not been asked lately.', 10);
    const why = this.#chain.whyNotCurrent;
    return why === null ? null : chainUnavailable(why, NOT_CURRENT[why], 10);
  }
}
