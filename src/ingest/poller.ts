import type { Catalog } from '../catalog/catalog.ts';
import { CatalogError } from '../catalog/errors.ts';
import type { Sighting } from '../catalog/seen-table.ts';
import { ArchiveError } from '../core/archive-errors.ts';
import type { BlockHash, TxId, VersionHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { BlobNode, ChainTip, ListedBlob } from '../node/blob-node.ts';
import type { Activity } from '../view/activity.ts';
import { MAX_LISTED, type Sweep, type SweepLimits, sweepCondition, sweepList } from './list-sweep.ts';

/** The chain that the bytes on this machine belong to. */
export interface ChainBinding {
  boundChain(): Promise<BlockHash | null>;
  bindTo(genesis: BlockHash): Promise<void>;
}

export interface PollerOptions {
  /** Milliseconds between two requests for the tip. */
  readonly pollMs: number;
  /** Milliseconds between two readings of the list without a new block: for unconfirmed blobs. */
  readonly sweepMs: number;
  /** Entries of one page of the list. */
  readonly pageEntries: number;
  /** Entries of a list that is believed to end. */
  readonly maxEntries?: number;
}

export interface PollerModules {
  readonly node: BlobNode;
  readonly catalog: Catalog;
  readonly binding: ChainBinding;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly clock: Clock;
}

/** The genesis block is asked for with every new tip, and after this, in case another node answers at the address. */
const CHAIN_CHECK_MS = 600_000;
/** Questions about unknown names share one reading of the list in this time. */
const READ_AGAIN_MS = 500;
/** Clients give up on an answer after five seconds. */
const READ_AGAIN_PATIENCE_MS = 3_000;

/** A blob that is older is asked for without waiting for a block that tells more of it. */
const MAX_WAITING_AGE_SECONDS = 3_600;

/** Asks the node what it has, over and over, and notes it in the catalog. */
export class Poller {
  readonly #options: PollerOptions;
  readonly #modules: PollerModules;
  /** Notifies when there is a new blob to fetch, when the node answers again, and when the list names something no more. */
  readonly changes = new Notifier();
  /** Nudged, it makes the next round begin at once: there is a new block. */
  readonly wake = new Notifier();
  #genesis: BlockHash | null = null;
  /** Steady time of the last check; status shows wall time. */
  #chainCheckedMs: number | null = null;
  #sweepEndedMs: number | null = null;
  /** Wall time of the same moment: that clock also counts the time for which the machine was suspended. */
  #sweepEndedWallMs = 0;
  /** Something happened that may have put another node at the address. */
  #isChainDoubtful = false;
  #tip: ChainTip | null = null;
  #lastAnswerMs: number | null = null;
  #sweptMs: number | null = null;
  #listed: Sweep['found'] = new Map();
  /** Transactions of the listed contents, where the dialect names them. */
  #transactions = new Set<TxId>();
  /** Listed contents whose transaction the dialect does not name. */
  #unnamed = new Set<VersionHash>();
  /** The last sweep saw everything that is listed. */
  #isWhole = false;
  /** There was a block since the last sweep. */
  #isSweepDue = false;
  /** The last round failed. */
  #isFailing = false;
  #isPaused = false;
  /** Each waits for a reading of the whole list that begins after the question. */
  #questions: ((isAnswered: boolean) => void)[] = [];
  #sweepBegunMs = Number.NEGATIVE_INFINITY;

  constructor(options: PollerOptions, modules: PollerModules) {
    this.#options = options;
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      await this.#round(signal);
      return this.#pauseMs();
    };
    const tell = (error: unknown) => this.#tell(error);
    await runLoop('node', step, { signal, backoff: BACKOFF.node, wake: this.wake, tell });
  }

  #tell(error: unknown): void {
    this.#isFailing = error !== null;
    if (error === null) {
      this.#modules.conditions.set('node', null);
      return;
    }
    for (const tell of this.#questions.splice(0)) tell(false);
    // A disk that cannot take what the node lists is not the node's fault.
    if (error instanceof CatalogError) {
      this.#modules.conditions.setError('list', error);
      return;
    }
    this.#chainCheckedMs = null;
    this.#modules.conditions.setError('node', error);
  }

  /** No operator forbids it; the node answers, and is on the chain that the bytes here belong to. */
  get mayFetch(): boolean {
    return !this.#isPaused && this.#chainCheckedMs !== null && !this.#isChainDoubtful;
  }

  /** Nothing is fetched while it is paused; the list is read all the same, so that it is known what waits. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.changes.notify();
  }

  /** Nothing may be fetched until the node was asked for its chain again. */
  doubtChain(): void {
    this.#isChainDoubtful = true;
    this.wake.wakeUp();
  }

  /** A sweep of the whole list ended lately, on a node that is not catching up: what it did not name is not in it. */
  isListCurrent(): boolean {
    const { pollMs, sweepMs } = this.#options;
    if (this.#sweepEndedMs === null || !this.#isWhole || this.#chainCheckedMs === null || this.#tip?.syncing !== false)
      return false;
    const { clock } = this.#modules;
    const sinceMs = Math.max(clock.steadyMs() - this.#sweepEndedMs, clock.wallMs() - this.#sweepEndedWallMs);
    return sinceMs < Math.max(15_000, 3 * (pollMs + sweepMs));
  }

  /**
   * Reads the whole list once more: a blob that was submitted after the last reading is in it. Concurrent callers share
   * one reading, so that names made up by clients cost the node two readings a second at most. The list is cheap for
   * the node, a question for one blob is not (reference/node-behaviour.md). false: the node did not answer in time.
   */
  async readAgain(signal: AbortSignal): Promise<boolean> {
    if (this.#isFailing) return false;
    const answered = Promise.withResolvers<boolean>();
    this.#questions.push(answered.resolve);
    if (this.#questions.length === 1) setTimeout(() => this.wake.wakeUp(), this.#readAgainInMs());
    const patience = setTimeout(answered.resolve, READ_AGAIN_PATIENCE_MS, false);
    const gone = () => answered.resolve(false);
    signal.addEventListener('abort', gone, { once: true });
    try {
      return (await answered.promise) && this.isListCurrent();
    } finally {
      clearTimeout(patience);
      signal.removeEventListener('abort', gone);
      this.#questions = this.#questions.filter((one) => one !== answered.resolve);
    }
  }

  #readAgainInMs(): number {
    return Math.max(0, this.#sweepBegunMs + READ_AGAIN_MS - this.#modules.clock.steadyMs());
  }

  /** Waits for the next round; a wake-up ends the pause early. */
  #pauseMs(): number {
    // A wake-up during the last round is not lost.
    return this.#questions.length === 0 ? this.#options.pollMs : Math.min(this.#options.pollMs, this.#readAgainInMs());
  }

  get state(): {
    genesis: BlockHash | null;
    tip: ChainTip | null;
    lastAnswerMs: number | null;
    sweptMs: number | null;
    entries: number | null;
  } {
    return {
      genesis: this.#genesis,
      tip: this.#tip,
      lastAnswerMs: this.#lastAnswerMs,
      sweptMs: this.#sweptMs,
      entries: this.#sweptMs === null ? null : this.#listed.size,
    };
  }

  /** Lowest median time that the last sweep named, seconds; null: it named none. */
  get oldestListedSeconds(): number | null {
    let oldest: number | null = null;
    for (const time of this.#listed.values()) if (time !== null && (oldest === null || time < oldest)) oldest = time;
    return oldest;
  }

  /** Reports whether the last sweep names this hash. */
  isListed(versionHash: VersionHash): boolean {
    return this.#listed.has(versionHash);
  }

  /** Reports whether the last sweep names content of this transaction. */
  isTransactionListed(txid: TxId): boolean {
    return this.#transactions.has(txid);
  }

  /** Contents that the last sweep names without their transaction. */
  get listedUnnamed(): ReadonlySet<VersionHash> {
    return this.#unnamed;
  }

  /** Another configured node lists these: they are fetched, though the one that is followed does not name them. */
  noteListedElsewhere(entries: readonly ListedBlob[]): void {
    if (this.#tip === null) return;
    const unnamed = entries.filter(({ versionHash }) => !this.isListed(versionHash));
    const added = this.#record(unnamed, this.#tip);
    if (added === 0) return;
    this.#modules.activity.emit('listed', added);
    this.changes.notify();
  }

  /** The next reading of the list records the content again, as if it had been absent. */
  forget(versionHash: VersionHash): void {
    this.#listed.delete(versionHash);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { node, activity, clock } = this.#modules;
    await this.#checkChain(signal);
    const tip = await node.tip(signal);
    this.#lastAnswerMs = clock.wallMs();
    const moved = tip.hash !== this.#tip?.hash;
    if (moved && this.#tip !== null) {
      this.#isChainDoubtful = true;
      await this.#checkChain(signal);
    }
    this.#tip = tip;
    if (moved) activity.emit('tip', tip);
    this.#isSweepDue ||= moved;
    const isStale =
      this.#sweepEndedMs === null || this.#modules.clock.steadyMs() - this.#sweepEndedMs >= this.#options.sweepMs;
    const isAsked = this.#questions.length > 0 && this.#readAgainInMs() === 0;
    const isThorough = isStale || isAsked;
    if (isThorough || this.#isSweepDue) await this.#sweep(tip, isThorough, signal);
  }

  async #checkChain(signal: AbortSignal): Promise<void> {
    const { node, binding } = this.#modules;
    const isRecent =
      this.#chainCheckedMs !== null && this.#modules.clock.steadyMs() - this.#chainCheckedMs < CHAIN_CHECK_MS;
    if (isRecent && !this.#isChainDoubtful) return;
    const genesis = await node.genesisHash(signal);
    const bound = await binding.boundChain();
    if (bound === null) await binding.bindTo(genesis);
    else if (bound !== genesis) {
      throw otherChain(node.name, genesis, bound);
    }
    this.#genesis = genesis;
    this.#chainCheckedMs = this.#modules.clock.steadyMs();
    this.#isChainDoubtful = false;
    this.changes.notify();
  }

  /** For a new block one quick look, which saves a call; the thorough one that tells what is not listed comes in its time. */
  async #sweep(tip: ChainTip, isThorough: boolean, signal: AbortSignal): Promise<void> {
    const limits = { maxEntries: MAX_LISTED, ...this.#options, isThorough };
    // A question that comes while the list is being read may be for a blob that its first page was too early for.
    const questions = isThorough ? this.#questions.splice(0) : [];
    if (isThorough) this.#sweepBegunMs = this.#modules.clock.steadyMs();
    try {
      await this.#readList(tip, limits, signal);
      for (const tell of questions) tell(true);
    } finally {
      for (const tell of questions) tell(false);
    }
  }

  async #readList(tip: ChainTip, limits: SweepLimits, signal: AbortSignal): Promise<void> {
    const { node, clock, conditions } = this.#modules;
    const { isThorough } = limits;
    const transactions = isThorough ? new Set<TxId>() : this.#transactions;
    const unnamed = isThorough ? new Set<VersionHash>() : this.#unnamed;
    const note = (page: readonly ListedBlob[]) => {
      for (const { txid, versionHash } of page) {
        if (txid === null) unnamed.add(versionHash);
        else transactions.add(txid);
      }
      this.#note(page, tip);
    };
    const sweep = await sweepList(node, limits, note, signal);
    this.#isSweepDue = false;
    this.#sweptMs = clock.wallMs();
    const condition = sweepCondition(sweep);
    if (isThorough || condition !== null) {
      this.#isWhole = condition === null;
      conditions.set('list', condition);
    }
    if (isThorough) {
      const wasCurrent = this.isListCurrent();
      const hasLess = this.#listed.keys().some((versionHash) => !sweep.found.has(versionHash));
      this.#listed = sweep.found;
      this.#transactions = transactions;
      this.#unnamed = unnamed;
      this.#sweepEndedMs = clock.steadyMs();
      this.#sweepEndedWallMs = clock.wallMs();
      if (hasLess || (!wasCurrent && this.isListCurrent())) this.changes.notify();
    } else for (const [versionHash, time] of sweep.found) this.#listed.set(versionHash, time);
  }

  #note(page: readonly ListedBlob[], tip: ChainTip): void {
    const { catalog, activity, clock } = this.#modules;
    this.#lastAnswerMs = clock.wallMs();
    const changed = page.filter((entry) => {
      const known = this.#listed.get(entry.versionHash);
      return known === undefined || known !== entry.medianTimeSeconds || catalog.leftOut.isContradicted(entry);
    });
    if (changed.length > 0)
      activity.emit(
        'sighted',
        changed.map(({ versionHash }) => versionHash),
      );
    const added = this.#record(changed, tip);
    if (added === 0) return;
    activity.emit('listed', added);
    this.changes.notify();
  }

  #record(entries: readonly ListedBlob[], tip: ChainTip): number {
    const { catalog, conditions } = this.#modules;
    const [first, ...more] = entries.filter((entry) => catalog.leftOut.isContradicted(entry));
    const added = catalog.noteListed(entries.map((entry) => this.#sightingOf(entry, tip)));
    if (first !== undefined) {
      conditions.note(
        'list',
        `${first.versionHash} is listed with ${first.sizeBytes} bytes, and was with more, by which a rule left it out: it is fetched now, and so are ${more.length} others like it.`,
      );
    }
    return added;
  }

  /** A dialect that tells no time: as urgent as what arrives now, unless it is known already. */
  #sightingOf(entry: ListedBlob, tip: ChainTip): Sighting {
    const { medianTimeSeconds } = entry;
    // Without times, what the first reading names may be of any age.
    if (medianTimeSeconds === null) {
      const mayWait = this.#sweptMs !== null;
      return { ...entry, medianTimeSeconds: tip.medianTimeSeconds, isTimeGuessed: true, mayWait };
    }
    return {
      ...entry,
      medianTimeSeconds,
      mayWait: tip.medianTimeSeconds - medianTimeSeconds < MAX_WAITING_AGE_SECONDS,
    };
  }
}

/** The error for a node on another chain than the data folder's. */
export function otherChain(node: string, genesis: BlockHash, bound: BlockHash): ArchiveError {
  return new ArchiveError(
    'archive/other-chain',
    `The node ${node} is on another chain (genesis ${genesis}) than this data folder (genesis ${bound}).`,
    {
      details: { node, genesis, bound },
      retryable: true,
      hint: 'Point HOLDFAST_NODE_URL at a node of the same chain, or name another HOLDFAST_DATA_DIR for this one.',
    },
  );
}
