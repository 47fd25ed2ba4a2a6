import type { Catalog } from '../catalog/catalog.ts';
import type { ChainFollowing } from '../chain/chain-following.ts';
import type { BytesSource } from '../chain/loss-judge.ts';
import type { NodeGroup } from '../chain/node-group.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { Site } from '../replication/site.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { Verifier } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import type { HeldBytes } from '../view/held-bytes.ts';
import { type BackfillEvent, type BackfillReport, exitCodeOf } from './backfill-report.ts';
import { FetchMissing } from './fetch-missing.ts';
import { LossRecord } from './loss-record.ts';
import { MissingInRange } from './missing-in-range.ts';
import { NodeSource } from './node-source.ts';
import { OwnPlaces } from './own-places.ts';
import { type BackfillParameters, DEFAULT_SOURCES } from './parameters.ts';
import { planOnly } from './plan-only.ts';
import type { ByteSource } from './source/byte-source.ts';
import { SourceDesk } from './source-desk.ts';
import { untilPlaced } from './until-placed.ts';
import { walkRange } from './walk-range.ts';

export interface BackfillModules {
  readonly nodes: NodeGroup;
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly sites: readonly Site[];
  readonly replication: { admit(signal: AbortSignal): Promise<unknown> };
  readonly adoption: { readonly isDone: boolean };
  readonly spooler: Spooler;
  readonly verifier: Verifier;
  readonly held: HeldBytes;
  readonly poller: Poller;
  readonly chain: ChainFollowing;
  readonly conditions: ConditionBoard;
  /** What a run records as lost goes to every backend before the run ends. */
  readonly evidence: { deliverNow(signal: AbortSignal): Promise<unknown>; readonly waiting: number };
  /** Asked before anything is recorded as lost, also where they are no source of the run. */
  readonly peers: readonly BytesSource[];
  readonly activity: Activity;
  readonly clock: Clock;
}

/** Opens what `--source` names; null: the nodes of the archive itself. */
export type OpenSource = (text: string) => Promise<ByteSource | null>;

export interface BackfillContext {
  readonly openSource: OpenSource;
  readonly report: (event: BackfillEvent) => void;
  readonly signal: AbortSignal;
}

export type BackfillResult = BackfillReport & { readonly exitCode: 0 | 1 | 3 };

/**
 * Everything that is on chain in a range of heights and not held here is fetched from whoever is named, proven, and put
 * where everything else is. It runs beside the archive's other work; what it did so far is kept however it ends, and the
 * next run goes on there.
 */
export class Backfill {
  readonly #modules: BackfillModules;

  constructor(modules: BackfillModules) {
    this.#modules = modules;
  }

  /**
   * Rejects when the signal aborts, when a source cannot be opened, and when the range cannot be walked.
   * @throws SourceError, ArchiveError, ChainError, CatalogError
   */
  async run(parameters: BackfillParameters, context: BackfillContext): Promise<BackfillResult> {
    const desks = await this.#open(parameters, context);
    try {
      const { catalog, chain, conditions } = this.#modules;
      const range = await walkRange(parameters, catalog, chain, conditions, context.report, context.signal);
      // By now the chain is known. What the archive's own backends hold is asked of them before it is fetched from others.
      if (!parameters.dryRun) await this.#modules.replication.admit(context.signal);
      return await this.#fill(parameters, range, desks, context);
    } finally {
      await Promise.all(desks.map((desk) => desk.close()));
    }
  }

  async #open({ sources }: BackfillParameters, context: BackfillContext): Promise<SourceDesk[]> {
    const desks: SourceDesk[] = [];
    try {
      for (const text of sources.length === 0 ? DEFAULT_SOURCES : sources) {
        const { nodes, poller, catalog, verifier, clock } = this.#modules;
        const source = (await context.openSource(text)) ?? new NodeSource(nodes, poller, catalog);
        desks.push(new SourceDesk(source, verifier, context.report, clock));
      }
      return desks;
    } catch (error) {
      await Promise.all(desks.map((desk) => desk.close()));
      throw error;
    }
  }

  async #fill(
    parameters: BackfillParameters,
    { from, to }: HeightRange,
    desks: readonly SourceDesk[],
    { report, signal }: BackfillContext,
  ): Promise<BackfillResult> {
    const range = new MissingInRange({ from, to }, this.#modules.catalog);
    const { wanted, atRisk } = await range.count(signal);
    report({ event: 'planned', from, to, wanted, atRisk });
    const about = { dryRun: parameters.dryRun, range: { from, to }, wanted, atRisk };
    if (parameters.dryRun) {
      const plan = await planOnly(range, desks, parameters.requests, report, signal);
      return this.#result({ ...about, ...plan, ...NOTHING_DONE }, desks);
    }
    const fetching = this.#fetching({ ...parameters, wanted, atRisk }, range, desks, report);
    await fetching.run(signal);
    const { catalog, chain } = this.#modules;
    const placed = await untilPlaced({ from, to }, catalog, chain, report, signal);
    const evidenceWaiting = await this.#deliverEvidence(signal);
    return this.#result({ ...about, ...fetching.outcome, ...placed, evidenceWaiting }, desks);
  }

  /** A command that runs once has no later. Gives the most documents that any one place has still to get. */
  async #deliverEvidence(signal: AbortSignal): Promise<number> {
    const { evidence } = this.#modules;
    await evidence.deliverNow(signal);
    return evidence.waiting;
  }

  #fetching(
    options: BackfillParameters & { wanted: number; atRisk: number },
    range: MissingInRange,
    desks: readonly SourceDesk[],
    report: (event: BackfillEvent) => void,
  ): FetchMissing {
    const own = new OwnPlaces(this.#modules);
    const asksNodes = options.sources.length === 0 || options.sources.includes('node');
    const losses = asksNodes ? new LossRecord({ ...this.#modules, own }) : null;
    return new FetchMissing(options, {
      ...this.#modules,
      own,
      desks,
      losses,
      range,
      report,
    });
  }

  #result(report: Omit<BackfillReport, 'sources'>, desks: readonly SourceDesk[]): BackfillResult {
    return { exitCode: exitCodeOf(report), ...report, sources: desks.map(({ tally }) => tally) };
  }
}

const NOTHING_DONE = {
  foundHere: 0,
  cameMeanwhile: 0,
  notStored: 0,
  recordsWaiting: 0,
  evidenceWaiting: 0,
  recordedLost: 0,
} as const;
