import type { Catalog } from '../../catalog/catalog.ts';
import type { BlockHash } from '../../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../core/blob/limits.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { WindowEntry, WindowLookup } from '../../view/chain-view.ts';
import { chainUnavailable } from './chain-unavailable.ts';
import type { Doubts } from './doubts.ts';

/** Unconfirmed blobs are looked for among so many latest arrivals. */
const LATEST_ARRIVALS = 5_000;
/** Clients page through the window, and ask for it over and over; it is thousands of rows. */
const WINDOW_MS = 500;

interface RememberedWindow {
  readonly entries: readonly WindowEntry[];
  readonly tip: BlockHash;
  readonly untilMs: number;
}

/** The contents of the window, as the node's own list of it has them. */
export class WindowEntries {
  readonly #catalog: Catalog;
  readonly #doubts: Doubts;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #known: RememberedWindow | null = null;

  constructor(catalog: Catalog, doubts: Doubts, clock: Pick<Clock, 'steadyMs'>) {
    this.#catalog = catalog;
    this.#doubts = doubts;
    this.#clock = clock;
  }

  read(): WindowLookup {
    const { chain, answers } = this.#catalog;
    const { tip } = chain.state;
    const why = this.#doubts.whyNotCurrent();
    if (why !== null) return why;
    if (tip === null) return chainUnavailable('not-walked', 'No block has been walked yet.', 10);
    const known = this.#known;
    if (known?.tip === tip.hash && this.#clock.steadyMs() < known.untilMs)
      return { kind: 'found', entries: known.entries };
    const since = tip.medianTimeSeconds - RETENTION_SECONDS;
    const entries = new Map<string, WindowEntry>();
    const lowest = answers.lowestHeightSince(tip.height, since) ?? 0;
    // A later occurrence of the same content replaces the earlier, and moves it to the end, as its new time does.
    for (const entry of [...answers.minedSince(lowest), ...answers.unminedSince(since, LATEST_ARRIVALS)]) {
      const key = `${entry.hashType}/${entry.versionHash}`;
      entries.delete(key);
      entries.set(key, entry);
    }
    this.#known = { entries: [...entries.values()], tip: tip.hash, untilMs: this.#clock.steadyMs() + WINDOW_MS };
    return { kind: 'found', entries: this.#known.entries };
  }
}
