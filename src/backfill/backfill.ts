import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Spooler } from '../ingest/spooler.ts';
import { Bandwidth } from '../replication/bandwidth.ts';
import { type BackfillEvent, type BackfillReport, exitCodeOf } from './backfill-report.ts';
import { FetchMissing } from './fetch-missing.ts';
import { FetchTally } from './fetch-tally.ts';
import type { LossRecord } from './loss-record.ts';
import type { OwnPlaces } from './own-places.ts';
import type { BackfillParameters } from './parameters.ts';
import { planOnly } from './plan-only.ts';
import type { RangeInArchive } from './range-in-archive.ts';
import type { OpenSource, SourceList } from './source-list.ts';
import type { VerifiedSource } from './verified-source.ts';

export interface BackfillModules {
  readonly archive: RangeInArchive;
  readonly sources: SourceList;
  readonly own: OwnPlaces;
  readonly spooler: Spooler;
  readonly losses: LossRecord;
  readonly clock: Clock;
}

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
    const { archive } = this.#modules;
    const { openSource, report, signal } = context;
    const sources = await this.#modules.sources.open(parameters.sources, openSource, report);
    try {
      const range = await archive.walk(parameters, report, signal);
      if (!parameters.dryRun) await archive.admitBackends(signal);
      return await this.#fill(parameters, range, sources, context);
    } finally {
      await Promise.all(sources.map((source) => source.close()));
    }
  }

  async #fill(
    parameters: BackfillParameters,
    { from, to }: HeightRange,
    sources: readonly VerifiedSource[],
    { report, signal }: BackfillContext,
  ): Promise<BackfillResult> {
    const { archive, own, spooler, losses, clock } = this.#modules;
    const range = archive.missing({ from, to });
    const { wanted, atRisk } = await range.count(signal);
    report({ event: 'planned', from, to, wanted, atRisk });
    const about = { dryRun: parameters.dryRun, range: { from, to }, wanted, atRisk };
    if (parameters.dryRun) {
      const plan = await planOnly(range, sources, parameters.requests, report, signal);
      return this.#result({ ...about, ...plan, ...NOTHING_DONE }, sources);
    }
    const tally = new FetchTally({ wanted, atRisk }, report, clock);
    const asksNodes = parameters.sources.length === 0 || parameters.sources.includes('node');
    const fetching = new FetchMissing({
      ...{ own, sources, spooler, tally },
      losses: asksNodes ? losses : null,
      bandwidth: new Bandwidth(parameters.bytesPerSecond, clock),
    });
    await fetching.run(range.all(signal), parameters.requests, signal);
    const placed = await archive.untilPlaced({ from, to }, report, signal);
    return this.#result({ ...about, ...tally.outcome, ...placed }, sources);
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
