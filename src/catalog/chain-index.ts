import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { BlockHash, ContentName, TxId, VersionHash } from '../core/blob/ids.ts';
import { deadlineOf } from '../core/blob/limits.ts';
import { Notifier } from '../core/notifier.ts';
import { type BlockRow, BlockTable } from './block-table.ts';
import type { LeftOutLedger } from './left-out-ledger.ts';
import { NodeBranches } from './node-branches.ts';
import { type ChainPlace, OccurrenceTable, type PlacedOccurrence } from './occurrence-table.ts';
import { type RecordOutbox, UNMADE_RECORD } from './record-outbox.ts';
import { hashKey } from './seen-table.ts';
import type { Tables } from './tables.ts';
import type { UnminedLedger } from './unmined-ledger.ts';
import type { TakenBack, WalkedBlock, WalkedOccurrence, WalkState } from './walked-block.ts';

/** Number of occurrences of one content that get an occurrence record. */
export const RECORDED_OCCURRENCES = 16;

const WALK = 'walk';
const FLOOR = 'recorded-floor';
const walked = z.object({
  startHeight: z.number(),
  finalHeight: z.number().nullable(),
  calledFinalHeight: z.number().nullable(),
  finality: z.string().nullable(),
});
type Walked = z.output<typeof walked>;

type ChainLeftOut = Pick<LeftOutLedger, 'judgeMined' | 'noteMined' | 'leaveBlocks' | 'recordEvidence' | 'askAfterMs'>;

/** The branch that was walked, and what is on it. Every method is one durable transaction. */
export class ChainIndex {
  readonly nodeBranches: NodeBranches;
  readonly #tables: Tables;
  readonly #records: RecordOutbox;
  readonly #unmined: UnminedLedger;
  readonly #leftOut: ChainLeftOut;
  readonly #blocks: BlockTable;
  readonly #occurrences: OccurrenceTable;
  readonly #revokeLoss: Database.Statement;
  #startHeight: number | null = null;
  /** Lowest height of which a record is known to lie somewhere. */
  #floorHeight: number | null;
  /** Notifies when there may be history to walk. */
  readonly floorChanges = new Notifier();
  #tip: BlockRow | null;
  #lowest: BlockRow | null;
  #finalHeight: number | null = null;
  /** Height up to which records may have been written, by any rule. Never below the final height. */
  #calledFinalHeight: number | null = null;
  #finality: string | null = null;

  constructor(tables: Tables, records: RecordOutbox, unmined: UnminedLedger, leftOut: ChainLeftOut) {
    const { database } = tables;
    this.#tables = tables;
    this.#records = records;
    this.#unmined = unmined;
    this.#leftOut = leftOut;
    this.nodeBranches = new NodeBranches(tables);
    this.#blocks = new BlockTable(database);
    this.#occurrences = new OccurrenceTable(database);
    this.#revokeLoss = database.prepare(
      `UPDATE lost SET revoked_ms = ?, revoked_because = 'left-the-branch' WHERE version_hash = ? AND revoked_ms IS NULL AND NOT EXISTS (SELECT 1 FROM occurrence WHERE version_hash = ?)`,
    );
    this.#floorHeight = tables.facts.get(FLOOR, z.number());
    const known = tables.facts.get(WALK, walked);
    if (known !== null) {
      this.#startHeight = known.startHeight;
      this.#finalHeight = known.finalHeight;
      this.#calledFinalHeight = known.calledFinalHeight;
      this.#finality = known.finality;
    }
    this.#tip = this.#blocks.highest();
    this.#lowest = this.#blocks.lowest();
  }

  /** From memory: it is asked at every turn. */
  get state(): WalkState {
    const startHeight = this.#startHeight;
    const lowestHeight = this.#lowest?.height ?? startHeight;
    return { startHeight, lowestHeight, tip: this.#tip, finalHeight: this.#finalHeight };
  }

  /** Down to here history is to be walked, because records of it lie somewhere; null: it was, or there is none. */
  get unwalkedFloor(): number | null {
    const floor = this.#floorHeight;
    return floor === null || (this.#lowest !== null && this.#lowest.height <= floor) ? null : floor;
  }

  /** A record of this height lies on a backend or in the data folder. */
  recordFloor(height: number): void {
    if (this.#floorHeight !== null && this.#floorHeight <= height) return;
    this.#tables.transaction('record how far down records go', () => this.#tables.facts.put(FLOOR, height));
    this.#floorHeight = height;
    this.floorChanges.notify();
  }

  /** Records where the walk begins, for good: a later call changes nothing. */
  recordStart(height: number): void {
    if (this.#startHeight !== null) return;
    this.#tables.transaction('record where the walk begins', () => this.#putWalk({ startHeight: height }));
    this.#startHeight = height;
  }

  /** Before the walk has begun there is nothing to be kept. Within a transaction. */
  #putWalk(changed: Partial<Walked>): void {
    const startHeight = changed.startHeight ?? this.#startHeight;
    if (startHeight === null) return;
    const [finalHeight, calledFinalHeight] = [this.#finalHeight, this.#calledFinalHeight];
    const before = { finalHeight, calledFinalHeight, finality: this.#finality };
    this.#tables.facts.put(WALK, { ...before, ...changed, startHeight } satisfies Walked);
  }

  /**
   * Sets the rule of finality (`chainlock`, `depth:6`). Blocks that another rule called final are not final by this
   * one.
   */
  useFinality(rule: string): void {
    if (this.#finality === rule) return;
    this.#tables.transaction('take another rule of finality', () =>
      this.#putWalk({ finalHeight: null, finality: rule }),
    );
    this.#finality = rule;
    this.#finalHeight = null;
  }

  /**
   * Our branch is final up to this height, but not above the last block that every node has. Never lowers the height:
   * only a reorganisation takes finality back.
   */
  recordFinal(upTo: number): void {
    const height = Math.min(upTo, this.nodeBranches.lastCommonHeight ?? upTo);
    if (this.#finalHeight !== null && height <= this.#finalHeight) return;
    const called = Math.max(height, this.#calledFinalHeight ?? height);
    this.#tables.transaction('record what is final', () =>
      this.#putWalk({ finalHeight: height, calledFinalHeight: called }),
    );
    this.#finalHeight = height;
    this.#calledFinalHeight = called;
  }

  /**
   * Blocks that follow the cursor, with what is on them, and the queue for what is not held: one commit, so that the
   * cursor never passes what is not recorded. `isPast`: was the deadline of a block with this median time over already?
   * Gives how many blobs were queued.
   */
  recordBlocks(blocks: readonly WalkedBlock[], isPast: (medianTimeSeconds: number) => boolean): number {
    if (blocks.length === 0) return 0;
    const before = this.#tip;
    try {
      const recorded = this.#tables.transaction('record walked blocks', () => {
        let added = 0;
        for (const block of blocks) {
          this.#assertFollows(block);
          this.#blocks.insert(block);
          this.#tip = block;
          for (const occurrence of block.occurrences) {
            if (this.#add(block, occurrence, isPast)) added += 1;
          }
          this.#addUnclear(block);
        }
        this.#leftOut.recordEvidence();
        return added;
      });
      this.#lowest ??= blocks[0] ?? null;
      return recorded;
    } catch (error) {
      this.#tip = before;
      throw error;
    }
  }

  /**
   * Records blocks that end where the recorded branch begins, in chain order: history, long after its window. The
   * lowest recorded block names them, so they are on the branch. Their contents are not queued: the node has pruned
   * them, and a backfill reads them here.
   */
  recordHistory(blocks: readonly WalkedBlock[]): void {
    const [first] = blocks;
    if (first === undefined) return;
    this.#tables.transaction('record history', () => {
      let above = this.#lowest;
      for (const block of blocks.toReversed()) {
        if (above === null || block.height !== above.height - 1 || block.hash !== above.previousHash)
          throw new RangeError(`block ${block.height} is not the one before the lowest that was walked`);
        this.#blocks.insert(block);
        above = block;
      }
      for (const block of blocks) {
        for (const occurrence of block.occurrences) this.#addHistory(block, occurrence, first.height);
        this.#addUnclear(block);
      }
      this.#leftOut.recordEvidence();
    });
    this.#lowest = first;
  }

  /** The hash of the block before the lowest one recorded; null: nothing is recorded, or it is the first of the chain. */
  get hashBefore(): BlockHash | null {
    return this.#lowest === null || this.#lowest.height === 0 ? null : this.#lowest.previousHash;
  }

  /** Leaves the blocks above this height: their occurrences are no longer mined, content stays. */
  takeBack(toHeight: number): TakenBack {
    const final = this.#finalHeight;
    const called = this.#calledFinalHeight;
    const chainSeconds = this.#tip?.medianTimeSeconds ?? 0;
    const left = this.#blocks.at(toHeight) === null ? null : toHeight;
    const lowered = (height: number | null) => (height !== null && height > toHeight ? left : height);
    const taken = this.#tables.transaction('take blocks back', () => {
      const gone = new Map<VersionHash, number[]>();
      const withdrawn: PlacedOccurrence[] = [];
      let occurrences = 0;
      for (const occurrence of this.#occurrences.above(toHeight)) {
        occurrences += 1;
        const heights = gone.get(occurrence.versionHash);
        if (heights === undefined) gone.set(occurrence.versionHash, [occurrence.height]);
        else heights.push(occurrence.height);
        if (called !== null && occurrence.height <= called) withdrawn.push(occurrence);
      }
      this.#occurrences.deleteAbove(toHeight);
      this.#records.forgetAbove(toHeight);
      for (const occurrence of withdrawn) this.#records.withdraw(occurrence, chainSeconds);
      for (const [versionHash, heights] of gone) {
        this.#tables.seen.leaveBlock(versionHash);
        this.#leftOut.leaveBlocks(versionHash, heights);
        const key = hashKey(versionHash);
        this.#revokeLoss.run(this.#tables.nowMs(), key, key);
      }
      this.#leftOut.recordEvidence();
      const blocks = this.#blocks.deleteAbove(toHeight);
      this.nodeBranches.leaveAbove(toHeight);
      this.#putWalk({ finalHeight: lowered(final), calledFinalHeight: lowered(called) });
      return { blocks, occurrences, withdrawn };
    });
    this.nodeBranches.reload();
    this.#tip = this.#blocks.highest();
    this.#lowest = this.#blocks.lowest();
    this.#finalHeight = lowered(final);
    this.#calledFinalHeight = lowered(called);
    return taken;
  }

  blockAt(height: number): BlockRow | null {
    return this.#tables.reading('read a block', () => this.#blocks.at(height));
  }

  /** null: not on the branch that was walked. */
  heightOf(hash: BlockHash): number | null {
    return this.#tables.reading('look a block up', () => this.#blocks.heightOf(hash));
  }

  /** Times of the cursor's block and those below it that are recorded, newest first. */
  timesUpTo(height: number, count: number): number[] {
    return this.#tables.reading('read block times', () => this.#blocks.timesUpTo(height, count));
  }

  occurrences(name: ContentName, after: ChainPlace | null, limit: number): PlacedOccurrence[] {
    return this.#tables.reading('read occurrences', () => this.#occurrences.page(name, after, limit));
  }

  ofTransaction(txid: TxId): PlacedOccurrence | null {
    return this.#tables.reading('look a transaction up', () => this.#occurrences.ofTransaction(txid));
  }

  /** Height of its first occurrence on our branch: it is final when this is. null: in no block of it. */
  firstHeight(name: ContentName): number | null {
    return this.#tables.reading('look an occurrence up', () => this.#occurrences.firstHeight(name));
  }

  lastHeight(name: ContentName): number | null {
    return this.#tables.reading('look an occurrence up', () => this.#occurrences.lastHeight(name));
  }

  /** null: no block that was walked has any. */
  lastOccurrenceHeight(): number | null {
    return this.#tables.reading('look the newest occurrence up', () => this.#occurrences.highest());
  }

  /** Queues content of the branch again, as if its newest block were walked now. The caller owns the transaction. */
  queueAgain(name: ContentName): void {
    const height = this.#occurrences.lastHeight(name);
    if (height === null || this.#tables.content.isHeldAs(name)) return;
    const below = { height, transactionIndex: -1 };
    const [newest] = this.#occurrences.page(name, below, 1);
    if (newest === undefined) return;
    const { txid, medianTimeSeconds } = newest;
    const isPast = (this.#tip?.medianTimeSeconds ?? 0) > deadlineOf(medianTimeSeconds);
    this.#tables.seen.addMined(name, { txid, medianTimeSeconds, isPast }, this.#tables.nowMs());
  }

  unclearCount(): number {
    return this.#tables.reading('count unclear transactions', () => this.#occurrences.unclearCount());
  }

  /** true: it is queued now, and was not before. */
  #add(block: BlockRow, occurrence: WalkedOccurrence, isPast: (medianTimeSeconds: number) => boolean): boolean {
    const { height, medianTimeSeconds } = block;
    const standing = this.#tables.content.standing(occurrence);
    const isHeld = standing?.isHeld === true;
    const past = isPast(medianTimeSeconds);
    const isLeftOut = !isHeld && this.#leftOut.judgeMined({ ...occurrence, height, medianTimeSeconds, isPast: past });
    // Content that is neither held nor fetched gets its records queued when its bytes turn up, made from the block again.
    const isWanted = isHeld || (!past && !isLeftOut);
    if (isWanted && this.#occurrences.countUpTo(occurrence, RECORDED_OCCURRENCES) < RECORDED_OCCURRENCES) {
      this.#records.add({ height, transactionIndex: occurrence.transactionIndex }, occurrence.makeRecord());
    }
    this.#occurrences.insert({ ...occurrence, height }, occurrence.senders);
    if (standing?.isUnmined === true) this.#unmined.recordMined(occurrence, medianTimeSeconds);
    if (isLeftOut || isHeld) return false;
    const nowMs = this.#tables.nowMs();
    const askAfterMs = this.#leftOut.askAfterMs(occurrence, nowMs);
    const mined = { txid: occurrence.txid, medianTimeSeconds, isPast: past, askAfterMs };
    return this.#tables.seen.addMined(occurrence, mined, nowMs);
  }

  /**
   * The first sixteen occurrences in each walked stretch of held content get a record. These may be more than needed,
   * never fewer, though the lowest ones come last.
   */
  #addHistory({ height, medianTimeSeconds }: BlockRow, occurrence: WalkedOccurrence, since: number): void {
    const { content } = this.#tables;
    const records = this.#records;
    const before = this.#occurrences.countBetween(occurrence, since, height, RECORDED_OCCURRENCES);
    this.#occurrences.insert({ ...occurrence, height });
    this.#leftOut.noteMined({ ...occurrence, height, medianTimeSeconds });
    const standing = content.standing(occurrence);
    if (standing?.isUnmined === true) this.#unmined.recordMined(occurrence, medianTimeSeconds);
    if (before >= RECORDED_OCCURRENCES || standing?.isHeld !== true) return;
    records.add({ height, transactionIndex: occurrence.transactionIndex }, UNMADE_RECORD);
  }

  #addUnclear({ height, unclear }: WalkedBlock): void {
    for (const { transactionIndex, txid, candidates } of unclear) {
      this.#occurrences.insertUnclear({ height, transactionIndex }, txid, candidates);
    }
  }

  /** The caller has checked this already; a bug here must not make a branch that no node has. */
  #assertFollows({ height, previousHash }: BlockRow): void {
    const follows =
      this.#tip === null
        ? height === this.#startHeight
        : height === this.#tip.height + 1 && previousHash === this.#tip.hash;
    if (!follows) throw new RangeError(`block ${height} does not follow the last one that was walked`);
  }
}
