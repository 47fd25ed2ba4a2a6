import type { Catalog } from '../catalog/catalog.ts';
import type { ChainFollowing } from '../chain/chain-following.ts';
import type { RescueSource } from '../chain/loss-judge.ts';
import type { NodeGroup } from '../chain/node-group.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Spooler } from '../ingest/spooler.ts';
import type { Verifier } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import { type BackfillEvent, type BackfillReport, exitCodeOf } from './backfill-report.ts';
import { ConfiguredNodesSource } from './configured-nodes-source.ts';
import { FetchMissing } from './fetch-missing.ts';
import { LossRecord } from './loss-record.ts';
import { MissingInRange } from './missing-in-range.ts';
import type { OwnPlaces } from './own-places.ts';
import { type BackfillParameters, DEFAULT_SOURCES } from './parameters.ts';
import { planOnly } from './plan-only.ts';
import type { BackfillSource } from './source/backfill-source.ts';
import { untilPlaced } from './until-placed.ts';
import { VerifiedSource } from './verified-source.ts';
import { walkRange } from './walk-range.ts';

export interface BackfillModules {
  readonly nodes: NodeGroup;
  readonly catalog: Catalog;
  readonly replication: { admit(signal: AbortSignal): Promise<unknown> };
  readonly own: OwnPlaces;
  readonly spooler: Spooler;
  readonly verifier: Verifier;
  readonly poller: Poller;
  readonly chain: ChainFollowing;
  readonly conditions: ConditionBoard;
  /** Records of losses reach every backend before the run ends. */
  readonly evidence: { deliverNow(signal: AbortSignal): Promise<unknown>; readonly waiting: number };
  /** Peers to ask before a loss is recorded, also those that are no source of the run. */
  readonly peers: readonly RescueSource[];
  readonly activity: Activity;
  readonly clock: Clock;
}

/** Opens what `--source` names; null: the nodes of the archive itself. */
export type OpenSource = (text: string) => Promise<BackfillSource | null>;

export interface BackfillContext {
  readonly openSource: OpenSource;
  readonly report: (event: BackfillEvent) => void;
  readonly signal: AbortSignal;
}

export type BackfillResult = BackfillReport & { readonly exitCode: 0 | 1 | 3 };

/**
 * Fetches the missing content of a range of blocks from the named sources, verifies it and stores it on the usual
 * backends. It runs beside the archive's other work. However it ends, its progress is kept, and the next run continues
 * there.
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
    const sources = await this.#open(parameters, context);
    try {
      const { catalog, chain, conditions, clock } = this.#modules;
      const range = await walkRange(parameters, catalog, chain, conditions, context.report, clock, context.signal);
      // The chain is known by now. The archive's own backends are searched before any source is asked.
      if (!parameters.dryRun) await this.#modules.replication.admit(context.signal);
      return await this.#fill(parameters, range, sources, context);
    } finally {
      await Promise.all(sources.map((verifiedSource) => verifiedSource.close()));
    }
  }

  async #open(parameters: BackfillParameters, context: BackfillContext): Promise<VerifiedSource[]> {
    const sources: VerifiedSource[] = [];
    try {
      for (const text of parameters.sources.length === 0 ? DEFAULT_SOURCES : parameters.sources) {
        const { nodes, poller, catalog, verifier, clock } = this.#modules;
        const source = (await context.openSource(text)) ?? new ConfiguredNodesSource(nodes, poller, catalog, clock);
        sources.push(new VerifiedSource(source, verifier, context.report, clock));
      }
      return sources;
    } catch (error) {
      await Promise.all(sources.map((verifiedSource) => verifiedSource.close()));
      throw error;
    }
  }

  async #fill(
    parameters: BackfillParameters,
    { from, to }: HeightRange,
    sources: readonly VerifiedSource[],
    { report, signal }: BackfillContext,
  ): Promise<BackfillResult> {
    const range = new MissingInRange({ from, to }, this.#modules.catalog);
    const { wanted, atRisk } = await range.count(signal);
    report({ event: 'planned', from, to, wanted, atRisk });
    const about = { dryRun: parameters.dryRun, range: { from, to }, wanted, atRisk };
    if (parameters.dryRun) {
      const plan = await planOnly(range, sources, parameters.requests, report, signal);
      return this.#result({ ...about, ...plan, ...NOTHING_DONE }, sources);
    }
    const fetching = this.#fetching({ ...parameters, wanted, atRisk }, range, sources, report);
    await fetching.run(signal);
    const { catalog, chain, clock } = this.#modules;
    const placed = await untilPlaced({ from, to }, catalog, chain, report, clock, signal);
    const evidenceWaiting = await this.#deliverEvidence(signal);
    return this.#result({ ...about, ...fetching.outcome, ...placed, evidenceWaiting }, sources);
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
    sources: readonly VerifiedSource[],
    report: (event: BackfillEvent) => void,
  ): FetchMissing {
    const asksNodes = options.sources.length === 0 || options.sources.includes('node');
    const losses = asksNodes ? new LossRecord(this.#modules) : null;
    return new FetchMissing(options, {
      ...this.#modules,
      sources,
      losses,
      range,
      report,
    });
  }

  #result(report: Omit<BackfillReport, 'sources'>, sources: readonly VerifiedSource[]): BackfillResult {
    return { exitCode: exitCodeOf(report), ...report, sources: sources.map(({ tally }) => tally) };
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
