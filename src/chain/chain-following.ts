import type { Catalog } from '../catalog/catalog.ts';
import type { ChainPlace, PlacedOccurrence } from '../catalog/occurrence-table.ts';
import type { ContentName, TxId } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { ArchiveNode } from '../node/chain-node.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { Verifier } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import type { OccurrencePage, OccurrenceStatus } from '../view/archive-view.ts';
import type { HeldBytes } from '../view/held-bytes.ts';
import { type AuditRange, auditChain, type ChainAuditReport } from './audit.ts';
import { BlockWatch } from './block-watch.ts';
import { ConflictWatch } from './conflict-watch.ts';
import { DeadlineWatch } from './deadline-watch.ts';
import { EvidenceKeeper } from './evidence-keeper.ts';
import { describeFinality, Finality, type FinalityRule } from './finality.ts';
import { Follower } from './follower.ts';
import { HistoryWalk } from './history.ts';
import { LagWatch } from './lag-watch.ts';
import { type BytesSource, LossJudge } from './loss-judge.ts';
import { OutageWatch } from './outage-watch.ts';
import { RecordKeeper } from './record-keeper.ts';

export interface ChainOptions {
  /** null: the lowest height that can still be saved, at the very first start. */
  readonly startHeight: number | null;
  readonly finality: FinalityRule;
  /** Tells this archiver's evidence from that of others on the same backends. */
  readonly archiverId: string;
  /** Blocks without a blob after which that is told: rollups fell silent, or we do not see them any more. 0: never. */
  readonly silentBlocks: number;
}

export interface ChainModules {
  /** What is followed: one node, or a group of them. */
  readonly node: ArchiveNode;
  /** Every configured node, each by itself. */
  readonly nodes: readonly ArchiveNode[];
  readonly catalog: Catalog;
  /** Names of the nodes that are to be asked after the others. */
  readonly askLast: (names: ReadonlySet<string>) => void;
  readonly poller: Poller;
  readonly spooler: Spooler;
  readonly verifier: Verifier;
  readonly held: HeldBytes;
  readonly sources: readonly BytesSource[];
  readonly records: readonly ObjectStore[];
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly nowMs: () => number;
}

/** Why nothing may be called absent, or not final, now. */
export type NotCurrent = 'walk-behind' | 'finality-unknown' | 'not-compared';

/** How often it is looked whether history is to be walked. */
const HISTORY_LOOK_MS = 5_000;
/** Occurrences of a record, or of one page of them. */
const PAGE = 16;
/** Of an audit's findings, in the evidence of it; losses have evidence of their own. */
const MOST_FINDINGS_KEPT = 1_000;

/** Everything that knows what is on chain: the walk, its finality, deadlines, losses and records. */
export class ChainFollowing {
  readonly #options: ChainOptions;
  readonly #modules: ChainModules;
  readonly #follower: Follower;
  readonly #watch: BlockWatch;
  readonly #judge: LossJudge;
  readonly #keeper: RecordKeeper;
  readonly #evidence: EvidenceKeeper;
  readonly #conflicts: ConflictWatch;
  readonly #outages: OutageWatch;
  /** Of what is below the start height. */
  readonly history: HistoryWalk;

  constructor(options: ChainOptions, modules: ChainModules) {
    this.#options = options;
    this.#modules = modules;
    const { node, catalog, poller, conditions, activity } = modules;
    const finality = new Finality(options.finality, node, catalog);
    const follower = new Follower(options.startHeight, { ...modules, finality });
    this.#follower = follower;
    this.history = new HistoryWalk(catalog.chain, node);
    this.#watch = new BlockWatch(node, poller, conditions);
    this.#judge = new LossJudge({ ...modules, follower });
    const lag = new LagWatch({ ...modules, steadyMs: () => performance.now() });
    this.#conflicts = new ConflictWatch({ ...modules, follower, lag });
    this.#outages = new OutageWatch({
      ...modules,
      follower,
      sources: [...modules.nodes.map(({ name }) => `node ${name}`), ...modules.sources.map(({ name }) => name)],
      classesAt: async (from, to, signal) => (await this.#compare({ from, to }, signal)).occurrences,
    });
    this.#keeper = new RecordKeeper({
      catalog,
      stores: modules.records,
      node,
      conditions,
      finalHeight: () => this.finalHeight,
      news: follower.moved,
      steadyMs: () => performance.now(),
    });
    this.#evidence = new EvidenceKeeper({
      archiverId: options.archiverId,
      catalog,
      stores: modules.records,
      conditions,
      steadyMs: () => performance.now(),
    });
    const deadlines = new DeadlineWatch(catalog, poller, conditions, options.silentBlocks);
    activity.on('walked', () => deadlines.look());
    // Where the walk stands still, time goes on.
    activity.on('tip', () => deadlines.look());
  }

  get evidence(): Pick<EvidenceKeeper, 'deliverNow' | 'status'> {
    return this.#evidence;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follower.run(signal),
      this.#watch.run(signal),
      this.#judge.run(signal),
      this.#keeper.run(signal),
      this.#evidence.run(signal),
      this.#outages.run(signal),
      this.#conflicts.run(signal),
      this.#walkToRecords(signal),
    ]);
  }

  /** Then what no block named is in no block, and what is final may be called so. */
  isCurrent(): boolean {
    return this.whyNotCurrent === null;
  }

  get whyNotCurrent(): NotCurrent | null {
    if (this.#follower.isCurrent()) return this.#conflicts.isUnknown ? 'not-compared' : null;
    const isFinalityAlone = this.#follower.lastFailure?.at === 'finality' && !this.#follower.isFarBehind;
    return isFinalityAlone ? 'finality-unknown' : 'walk-behind';
  }

  /** Configured nodes follow different branches, by what each of them said last. */
  get hasConflict(): boolean {
    return this.#conflicts.hasConflict;
  }

  /** Records of blocks lie on the backends that this catalog, being new, has not walked: what is final there is not known. */
  get lacksHistory(): boolean {
    return this.#modules.catalog.chain.unwalkedFloor !== null;
  }

  /** false: what is final may only not have been asked for yet. */
  get hasLookedForFinal(): boolean {
    return this.#follower.hasLookedForFinal;
  }

  /** Up to here our branch is final, and may be called so now: not above the last block that all nodes have. */
  get finalHeight(): number | null {
    if (this.#conflicts.isUnknown) return null;
    const { finalHeight, lowestHeight } = this.#modules.catalog.chain.state;
    const common = this.#conflicts.lastCommonHeight;
    if (finalHeight === null || common === null || common >= finalHeight) return finalHeight;
    return lowestHeight !== null && common < lowestHeight ? null : common;
  }

  get status() {
    const { chain, losses } = this.#modules.catalog;
    const { startHeight, tip } = chain.state;
    return {
      startHeight,
      height: tip?.height ?? null,
      lagBlocks: this.#follower.lagBlocks,
      finality: describeFinality(this.#options.finality),
      finalHeight: this.finalHeight,
      lost: losses.count(),
      unclearTransactions: chain.unclearCount(),
      evidence: this.#evidence.status,
      outage: this.#outages.report,
    };
  }

  /** A catalog that was made anew is walked down to the lowest height of which a record lies somewhere. */
  async #walkToRecords(signal: AbortSignal): Promise<void> {
    const { catalog, conditions } = this.#modules;
    const { moved } = this.#follower;
    const step = async (): Promise<Next> => {
      const floor = this.#follower.isCurrent() ? catalog.chain.unwalkedFloor : null;
      if (floor === null) return HISTORY_LOOK_MS;
      const progress = (height: number) => conditions.set('chain:history', walkingHistory(height, floor));
      progress(catalog.chain.state.lowestHeight ?? floor);
      await this.history.downTo(floor, progress, signal);
      conditions.set('chain:history', null);
      // What waits for something to be final looks again.
      moved.ring();
      return HISTORY_LOOK_MS;
    };
    // What was told of a walk that failed stands until the walk is done: looking whether there is one does not clear it.
    const tell = (error: unknown) => {
      if (error !== null) conditions.setError('chain:history', error, false);
    };
    await runLoop('chain:history', step, { signal, backoff: BACKOFF.remote, wake: moved, tell });
  }

  /** Compares what is on chain with what is held; the result is evidence, and goes to every backend. */
  async audit(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport> {
    const { catalog, nowMs } = this.#modules;
    const report = await this.#compare(range, signal);
    const at = new Date(nowMs()).toISOString();
    const findings = report.findings.slice(0, MOST_FINDINGS_KEPT);
    catalog.evidence.put(`audits/${at.replace(/[-:]/g, '')}.json`, { format: 1, at, ...report, findings });
    return report;
  }

  #compare(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport> {
    const facts = { finalHeight: this.finalHeight, nodeTip: this.#modules.poller.state.tip };
    return auditChain(this.#modules.catalog, range, facts, signal);
  }

  /** Raised while the walk is not where the node is: nothing may be called absent, and little is known to be final. */
  behindCondition(since: string) {
    const why = this.whyNotCurrent;
    if (why === null) return null;
    const { height, startHeight } = this.status;
    const failure = this.#follower.lastFailure;
    if (why === 'not-compared') return notCompared(since);
    if (why === 'finality-unknown') return finalityUnknown(since, failure?.message ?? 'it does not answer');
    const at = startHeight === null ? 'has not begun' : `is at height ${height ?? startHeight}`;
    const tip = this.#modules.poller.state.tip?.height;
    return {
      code: 'chain/walk-behind',
      message: `The walk of the chain ${at}${tip === undefined ? '' : `, the node at ${tip}`}${failure === null ? '.' : `: ${failure.message}`}`,
      hint: 'Wait while it catches up; if it does not move, look at the other conditions and at the node.',
      since,
      blocksReadiness: true,
    };
  }

  /** One page of the occurrences of a content, in the order of the chain; what waits for a block comes last. */
  occurrences(name: ContentName, listedTxid: TxId | null, after: string | null): OccurrencePage {
    const { chain } = this.#modules.catalog;
    const found = chain.occurrences(name, after === null ? null : parsePlace(after), PAGE + 1);
    const page = found.slice(0, PAGE).map((occurrence) => this.#describe(occurrence));
    const last = found[PAGE - 1];
    if (found.length > PAGE && last !== undefined) return { occurrences: page, next: placeText(last) };
    // Listed is not on chain: the transaction can wait, or its block was taken back.
    const isHere = page.some(({ txid }) => txid === listedTxid);
    if (listedTxid !== null && !isHere && chain.ofTransaction(listedTxid) === null) page.push(unconfirmed(listedTxid));
    return { occurrences: page, next: null };
  }

  #describe({ txid, vout, height, blockHash, medianTimeSeconds }: PlacedOccurrence): OccurrenceStatus {
    const final = this.finalHeight;
    const state = final !== null && height <= final ? 'final' : 'mined';
    return { state, txid, vout, height, blockHash, medianTimeSeconds };
  }
}

function walkingHistory(height: number, floor: number) {
  return {
    code: 'catalog/rebuilding',
    message: `The catalog is new, and records of blocks from height ${floor} on lie on the backends: these blocks are walked (down to height ${height} so far).`,
    hint: 'Wait: until it is done, what was archived before is answered with 503 where its finality is asked for, not with false.',
    blocksReadiness: false,
  };
}

function notCompared(since: string) {
  return {
    code: 'chain/nodes-not-compared',
    message:
      'Not every configured node was asked yet whether it follows the branch that is walked now, after the start or a reorganisation: nothing is called final meanwhile.',
    hint: 'Wait; a node that does not answer is passed over when its time is up.',
    since,
    blocksReadiness: true,
  };
}

function finalityUnknown(since: string, why: string) {
  return {
    code: 'chain/finality-unknown',
    message: `The walk is at the node's tip, but the node fails when it is asked for its best ChainLock; what was called final stays so, and nothing new is: ${why}`,
    hint: 'Blobs are archived meanwhile. Look at the log of the node; where its network has no ChainLocks, set HOLDFAST_FINALITY to depth:<confirmations>.',
    since,
    blocksReadiness: true,
  };
}

function unconfirmed(txid: TxId): OccurrenceStatus {
  return { state: 'unconfirmed', txid, vout: null, height: null, blockHash: null, medianTimeSeconds: null };
}

function placeText({ height, transactionIndex }: ChainPlace): string {
  return `${height}-${transactionIndex}`;
}

/** What is no place begins at the beginning: the text comes from a page before. */
function parsePlace(text: string): ChainPlace | null {
  const match = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  return match === null ? null : { height: Number(match[1]), transactionIndex: Number(match[2]) };
}
