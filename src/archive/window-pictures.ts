import { RETENTION_SECONDS } from '../blob/limits.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { WindowPlacement, WindowRow } from '../catalog/window-rows.ts';
import { FIRST_ALARM_PERCENT } from './chain/deadline-watch.ts';
import type {
  BackendTally,
  BlobColumn,
  WindowBlob,
  WindowBlobState,
  WindowBlock,
  WindowPicture,
  WindowView,
} from './window-view.ts';

export interface WindowPictureModules {
  readonly catalog: Catalog;
  readonly chain: { readonly finalHeight: number | null };
}

/** Two windows of a main network; where blocks come faster, the newest are drawn. */
const MOST_BLOCKS = 320;
/** So far behind its deadline is a block still drawn. */
const BEHIND_SECONDS = 1_800;
/** A block carries 32; no release takes more. */
const MOST_BLOBS = 64;
/** What waits for a block is looked for among so many latest arrivals. */
const LATEST_ARRIVALS = 500;

/** Draws the window out of the catalog; the rows are read again only when something was written. */
export class WindowPictures implements WindowView {
  readonly #modules: WindowPictureModules;
  #last: { readonly key: string; readonly picture: WindowPicture } | null = null;

  constructor(modules: WindowPictureModules) {
    this.#modules = modules;
  }

  picture(): WindowPicture {
    const { catalog, chain } = this.#modules;
    const key = `${catalog.window.changes()} ${catalog.chain.state.tip?.hash} ${chain.finalHeight}`;
    if (this.#last?.key === key) return this.#last.picture;
    const picture = this.#draw();
    this.#last = { key, picture };
    return picture;
  }

  #draw(): WindowPicture {
    const { catalog, chain } = this.#modules;
    const { tip } = catalog.chain.state;
    const nowSeconds = tip?.medianTimeSeconds ?? 0;
    const sinceSeconds = nowSeconds - RETENTION_SECONDS;
    const tally = new ReplicaTally();
    const found = tip === null ? [] : catalog.window.blocks(tip.height, sinceSeconds - BEHIND_SECONDS, MOST_BLOCKS);
    const blocks = found.map((block): WindowBlock => {
      const { height, hash, timeSeconds, medianTimeSeconds } = block;
      const copies = tally.add(catalog.window.placementsOf(height, MOST_BLOBS));
      const rows = catalog.window.ofBlock(height, MOST_BLOBS + 1);
      const isFinal = chain.finalHeight !== null && height <= chain.finalHeight;
      const stateOf = (row: WindowRow) =>
        catalog.withheld.has(row) ? 'withheld' : stateIn(row, medianTimeSeconds, nowSeconds);
      return { height, hash, timeSeconds, medianTimeSeconds, isFinal, ...columnOf(rows, stateOf, copies) };
    });
    const waiting = catalog.window.waiting(sinceSeconds, LATEST_ARRIVALS, MOST_BLOBS + 1);
    return {
      retentionSeconds: RETENTION_SECONDS,
      tip: tip && { height: tip.height, medianTimeSeconds: tip.medianTimeSeconds },
      blocks,
      blocksNotDrawn: this.#notDrawn(blocks[0] ?? null, sinceSeconds),
      waiting: columnOf(waiting, (row) => (catalog.withheld.has(row) ? 'withheld' : row.state), new Map()),
      atRisk: catalog.losses.lateness(sinceSeconds, nowSeconds - alarmSeconds()).unspooled,
      backends: tally.all(),
    };
  }

  #notDrawn(lowest: WindowBlock | null, sinceSeconds: number): number {
    const { catalog } = this.#modules;
    const { startHeight } = catalog.chain.state;
    if (lowest === null || startHeight === null || lowest.medianTimeSeconds < sinceSeconds) return 0;
    return lowest.height - 1 - (catalog.window.highestBelow(lowest.height, sinceSeconds) ?? startHeight - 1);
  }
}

/** What has not come within this time after its block is at risk. */
function alarmSeconds(): number {
  return (RETENTION_SECONDS * FIRST_ALARM_PERCENT) / 100;
}

function stateIn(row: WindowRow, blockSeconds: number, nowSeconds: number): WindowBlobState {
  if (row.state !== 'seen') return row.state;
  if (row.isLost) return 'lost';
  return nowSeconds - (row.wantedSeconds ?? blockSeconds) >= alarmSeconds() ? 'at-risk' : 'seen';
}

function columnOf(
  rows: readonly WindowRow[],
  stateOf: (row: WindowRow) => WindowBlobState,
  copies: ReadonlyMap<number, number>,
): BlobColumn {
  const blobs = rows.slice(0, MOST_BLOBS).map(
    (row): WindowBlob => ({
      versionHash: row.versionHash,
      hashType: row.hashType,
      txid: row.txid,
      sizeBytes: row.sizeBytes,
      state: stateOf(row),
      copies: row.sequence === null ? 0 : (copies.get(row.sequence) ?? 0),
    }),
  );
  return { blobs, hasMore: rows.length > MOST_BLOBS };
}

/** Counts each content once for each backend, however often it was mined. */
class ReplicaTally {
  readonly #counted = new Set<string>();
  readonly #byBackend = new Map<string, { counts: boolean; good: number; wanted: number; damaged: number }>();

  /** Gives how many good copies that count each content of these has. */
  add(placements: readonly WindowPlacement[]): Map<number, number> {
    const copies = new Map<number, number>();
    const here = new Set<string>();
    for (const { sequence, backend, counts, state } of placements) {
      const key = `${sequence} ${backend}`;
      // A block can hold a content twice, and then names its placements twice.
      if (here.has(key)) continue;
      here.add(key);
      if (counts && state === 'good') copies.set(sequence, (copies.get(sequence) ?? 0) + 1);
      if (this.#counted.has(key)) continue;
      this.#counted.add(key);
      const tally = this.#byBackend.get(backend) ?? { counts, good: 0, wanted: 0, damaged: 0 };
      tally[state] += 1;
      this.#byBackend.set(backend, tally);
    }
    return copies;
  }

  all(): BackendTally[] {
    return [...this.#byBackend].map(([backend, tally]) => ({ backend, ...tally }));
  }
}
