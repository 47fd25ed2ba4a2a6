import type { BlockRow } from '../catalog/block-table.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { WindowPlacement, WindowRow } from '../catalog/window-rows.ts';
import { countAtRisk, isAtRisk } from '../chain/deadline-watch.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { WindowState } from '../core/blob/window-state.ts';
import type { ChainState } from '../view/chain-state.ts';
import type {
  BackendTally,
  BlobColumn,
  WindowBlob,
  WindowBlock,
  WindowPicture,
  WindowView,
} from '../view/window-view.ts';

/** Two windows of a main network; where blocks come faster, the newest are drawn. */
const MAX_BLOCKS = 320;
/** Seconds past its deadline for which a block is still drawn. */
const BEHIND_SECONDS = 1_800;
/** A block carries 32; no release takes more. */
const MAX_BLOBS = 64;
/** Latest arrivals among which unmined blobs are searched for. */
const LATEST_ARRIVALS = 500;
/**
 * Blocks whose rows are read again per look. A full window takes 80 ms to read, during which all other requests wait.
 * These take 12 ms, and the whole window has its turn within seven looks.
 */
const BLOCKS_A_LOOK = 24;
/** Newest blocks among them: most changes happen there. */
const NEWEST_A_LOOK = 6;

/** A viewer looks every second. Rows that were read for an earlier viewer are not shown to a new one. */
const FORGET_MS = 3_000;

/** Rows of a block as the catalog gave them. */
interface ReadBlock {
  /** Change counter of the catalog at the time of reading. */
  readonly changes: number;
  readonly rows: readonly WindowRow[];
  readonly copies: ReadonlyMap<number, number>;
  readonly tallies: readonly BackendTally[];
}

/** Drawing of a block, while it is up to date. */
interface DrawnBlock {
  readonly read: ReadBlock;
  readonly essence: string;
  readonly block: WindowBlock;
}

/** Draws the window out of the catalog, without keeping anybody else waiting. */
export class WindowPictures implements WindowView {
  readonly #catalog: Catalog;
  readonly #chain: Pick<ChainState, 'finalHeight'>;
  readonly #nowMs: () => number;
  /** Drawings by block hash. */
  #drawn = new Map<string, DrawnBlock>();
  #askedMs = 0;
  #last: { readonly key: string; readonly picture: WindowPicture } | null = null;

  constructor(catalog: Catalog, chain: Pick<ChainState, 'finalHeight'>, nowMs: () => number) {
    this.#catalog = catalog;
    this.#chain = chain;
    this.#nowMs = nowMs;
  }

  picture(): WindowPicture {
    const changes = this.#catalog.window.changes();
    const nowMs = this.#nowMs();
    const isComplete = [...this.#drawn.values()].every(({ read }) => read.changes === changes);
    if (!isComplete && Math.abs(nowMs - this.#askedMs) > FORGET_MS) this.#drawn.clear();
    this.#askedMs = nowMs;
    const key = `${changes} ${this.#catalog.chain.state.tip?.hash} ${this.#chain.finalHeight}`;
    if (this.#last?.key === key && isComplete) return this.#last.picture;
    const picture = this.#draw(changes);
    this.#last = { key, picture };
    return picture;
  }

  #draw(changes: number): WindowPicture {
    const { tip } = this.#catalog.chain.state;
    const nowSeconds = tip?.medianTimeSeconds ?? 0;
    const sinceSeconds = nowSeconds - RETENTION_SECONDS;
    const found =
      tip === null ? [] : this.#catalog.window.blocks(tip.height, sinceSeconds - BEHIND_SECONDS, MAX_BLOCKS);
    const due = this.#due(found, changes);
    const drawn = found.map((block) => this.#drawBlock(block, nowSeconds, due.has(block.hash) ? changes : null));
    this.#drawn = new Map(drawn.map((one) => [one.block.hash, one]));
    const blocks = drawn.map(({ block }) => block);
    const waiting = this.#catalog.window.waiting(sinceSeconds, LATEST_ARRIVALS, MAX_BLOBS + 1);
    const arrived = waiting.flatMap(({ sequence }) => (sequence === null ? [] : [sequence]));
    const { copies } = tallyOf(this.#catalog.window.placementsOfContents(arrived));
    const stateOf = (row: WindowRow) => (this.#catalog.withheld.has(row) ? 'withheld' : row.state);
    return {
      retentionSeconds: RETENTION_SECONDS,
      tip: tip && { height: tip.height, medianTimeSeconds: tip.medianTimeSeconds },
      blocks,
      blocksNotDrawn: this.#notDrawn(blocks[0] ?? null, sinceSeconds),
      waiting: columnOf(waiting, stateOf, copies),
      atRisk: countAtRisk(this.#catalog, nowSeconds),
      backends: sumOf(drawn.flatMap(({ read }) => read.tallies)),
    };
  }

  /** Blocks to read: all that were never read, and the others that were read longest ago. */
  #due(found: readonly BlockRow[], changes: number): Set<string> {
    const readAt = (block: BlockRow) => this.#drawn.get(block.hash)?.read.changes ?? -1;
    const isStale = (block: BlockRow) => readAt(block) < changes;
    const newest = found.slice(-NEWEST_A_LOOK).filter(isStale);
    const oldestFirst = found
      .slice(0, -NEWEST_A_LOOK)
      .filter(isStale)
      .toSorted((a, b) => readAt(a) - readAt(b));
    const known = oldestFirst.filter((block) => readAt(block) >= 0).slice(0, BLOCKS_A_LOOK - NEWEST_A_LOOK);
    return new Set([...newest, ...known, ...oldestFirst.filter((block) => readAt(block) < 0)].map(({ hash }) => hash));
  }

  /** `changes`: it is to be read as of then; null: what was read is good. */
  #drawBlock(found: BlockRow, nowSeconds: number, changes: number | null): DrawnBlock {
    const { height, hash, timeSeconds, medianTimeSeconds } = found;
    const before = this.#drawn.get(hash);
    const read = before === undefined || changes !== null ? this.#read(height, changes ?? -1) : before.read;
    const isFinal = this.#chain.finalHeight !== null && height <= this.#chain.finalHeight;
    const states = read.rows.map(
      (row): WindowState =>
        this.#catalog.withheld.has(row) ? 'withheld' : stateIn(row, medianTimeSeconds, nowSeconds),
    );
    const essence = `${isFinal} ${states.join()}`;
    if (before?.read === read && before.essence === essence) return before;
    const column = columnOf(read.rows, (_, index) => states[index] ?? 'seen', read.copies);
    return { read, essence, block: { height, hash, timeSeconds, medianTimeSeconds, isFinal, ...column } };
  }

  #read(height: number, changes: number): ReadBlock {
    const { window } = this.#catalog;
    const rows = window.ofBlock(height, MAX_BLOBS + 1);
    return { changes, rows, ...tallyOf(window.placementsOf(height, MAX_BLOBS)) };
  }

  #notDrawn(lowest: WindowBlock | null, sinceSeconds: number): number {
    const { startHeight } = this.#catalog.chain.state;
    if (lowest === null || startHeight === null || lowest.medianTimeSeconds < sinceSeconds) return 0;
    return lowest.height - 1 - (this.#catalog.window.highestBelow(lowest.height, sinceSeconds) ?? startHeight - 1);
  }
}

/** A blob that is not durable within this time after its block is at risk. */
function stateIn(row: WindowRow, blockSeconds: number, nowSeconds: number): WindowState {
  if (row.state !== 'seen') return row.state;
  if (row.isCustom) return 'custom';
  if (row.isLost) return 'lost';
  if (row.isLeftOut) return 'not-archived-by-rule';
  return isAtRisk(row.queuedMedianSeconds ?? blockSeconds, nowSeconds) ? 'at-risk' : 'seen';
}

function columnOf(
  rows: readonly WindowRow[],
  stateOf: (row: WindowRow, index: number) => WindowState,
  copies: ReadonlyMap<number, number>,
): BlobColumn {
  const blobs = rows.slice(0, MAX_BLOBS).map(
    (row, index): WindowBlob => ({
      versionHash: row.versionHash,
      hashType: row.hashType,
      txid: row.txid,
      ...(row.senders === null ? {} : { senders: row.senders }),
      sizeBytes: row.sizeBytes,
      state: stateOf(row, index),
      copies: row.sequence === null ? 0 : (copies.get(row.sequence) ?? 0),
    }),
  );
  return { blobs, hasMore: rows.length > MAX_BLOBS };
}

/** Good copies that count, by content; and what each backend holds of the block, a content once. */
function tallyOf(placements: readonly WindowPlacement[]): Pick<ReadBlock, 'copies' | 'tallies'> {
  const copies = new Map<number, number>();
  const tallies: BackendTally[] = [];
  for (const [backend, ofBackend] of Map.groupBy(placements, (placement) => placement.backend)) {
    // A block can hold a content twice, and then names its placements twice.
    const ofContent = new Map(ofBackend.map((placement) => [placement.sequence, placement]));
    const tally = { backend, counts: false, good: 0, wanted: 0, damaged: 0 };
    for (const { sequence, counts, state } of ofContent.values()) {
      tally.counts = counts;
      tally[state] += 1;
      if (counts && state === 'good') copies.set(sequence, (copies.get(sequence) ?? 0) + 1);
    }
    tallies.push(tally);
  }
  return { copies, tallies };
}

function sumOf(tallies: readonly BackendTally[]): BackendTally[] {
  const sums = new Map<string, { backend: string; counts: boolean; good: number; wanted: number; damaged: number }>();
  for (const { backend, counts, good, wanted, damaged } of tallies) {
    const sum = sums.get(backend) ?? { backend, counts, good: 0, wanted: 0, damaged: 0 };
    sum.good += good;
    sum.wanted += wanted;
    sum.damaged += damaged;
    sums.set(backend, sum);
  }
  return [...sums.values()];
}
