import type { Catalog } from '../catalog/catalog.ts';
import type { UnsavedBlob } from '../catalog/unsaved-rows.ts';
import { messageOf } from '../core/blob/errors.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { LONGEST_SLEEP_MS, type Next, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainTip } from '../node/blob-node.ts';
import type { Activity } from '../view/activity.ts';
import type { ChainState } from '../view/chain-state.ts';
import { describeOutage, OUTAGES, type OutageReport, outagePath, outageReport } from '../view/outage-report.ts';
import type { ChainAudit } from './chain-audit.ts';

export interface OutageModules {
  readonly catalog: Catalog;
  readonly poller: Pick<Poller, 'state' | 'isListCurrent' | 'isListed'>;
  readonly chain: Pick<ChainState, 'isWalked' | 'hasLookedForFinal' | 'moved'>;
  readonly activity: Activity;
  readonly conditions: ConditionBoard;
  /** Names of the sources that are asked for bytes. */
  readonly sources: readonly string[];
  readonly audit: Pick<ChainAudit, 'compare'>;
}

/** Blocks in one step that count as a gap: half an hour of the real chain. */
const GAP_BLOCKS = 12;
/** Milliseconds between looks while blobs are missing. */
const OFTEN_MS = 5_000;

/**
 * Reports a gap in the archive's or the node's service: heights that may be lost, blobs that are savable, from where,
 * and until when. The fetch queue takes the nearest deadline first. The report stays until each blob is stored, kept as a
 * custom commitment, or recorded as lost.
 */
export class OutageWatch {
  readonly #modules: OutageModules;
  #report: OutageReport | null = null;
  /** true after the first tip since the start. */
  #hasHeard = false;
  /** true while blobs are missing. */
  #looksOften = false;

  constructor(modules: OutageModules) {
    this.#modules = modules;
    modules.activity.on('tip', (tip) => this.#notice(tip));
  }

  /** The latest report; null when no gap occurred since the start or was open then. */
  get report(): OutageReport | null {
    return this.#report;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { chain, catalog, conditions } = this.#modules;
    this.#report ??= this.#unfinished();
    const wake = Notifier.following(chain.moved);
    // One wake-up for many failures: while blobs are missing, it looks by itself.
    this.#modules.activity.on('failed', () => {
      if (!this.#looksOften) wake.notify();
    });
    const step = async (): Promise<Next> => {
      this.#looksOften = this.#openReport !== null || catalog.queueSummary().failing > 0;
      await this.#look(signal);
      return this.#looksOften || this.#openReport !== null ? OFTEN_MS : LONGEST_SLEEP_MS;
    };
    const tell = (error: unknown) => {
      if (error !== null)
        conditions.note('chain:outage', `the cost of an outage is unknown for now: ${messageOf(error)}`);
    };
    await runLoop('chain:outage', step, { signal, backoff: BACKOFF.local, wake, tell });
  }

  /** Runs before the follower moves: its cursor shows which blocks were missed. */
  #notice(tip: ChainTip): void {
    const { catalog, chain } = this.#modules;
    const { tip: cursor } = catalog.chain.state;
    const isFirst = !this.#hasHeard;
    this.#hasHeard = true;
    if (cursor === null || tip.height - cursor.height < GAP_BLOCKS) return;
    const open = this.#openReport;
    if (open !== null) {
      this.#keep({ ...open, to: Math.max(open.to, tip.height), missedSeconds: missed(open.sinceSeconds, tip) });
      return;
    }
    // A follower in the middle of a long chain has missed nothing.
    if (!isFirst && !chain.hasLookedForFinal) return;
    const sinceSeconds = cursor.medianTimeSeconds;
    this.#modules.conditions.note(
      'chain:outage',
      `blocks ${cursor.height + 1} to ${tip.height} arrived while Holdfast was not following; it examines them now`,
    );
    this.#keep(this.#begun('walk', cursor.height + 1, tip.height, sinceSeconds, missed(sinceSeconds, tip)));
  }

  get #openReport(): OutageReport | null {
    return this.#report?.endedAt === null ? this.#report : null;
  }

  #begun(kind: OutageReport['kind'], from: number, to: number, sinceSeconds: number, missedSeconds: number) {
    const { catalog, sources } = this.#modules;
    const nothing = { mayBeLost: null, savable: null, lacking: null, endedAt: null, outcome: null };
    const noticedAt = new Date(catalog.nowMs()).toISOString();
    const about = { kind, noticedAt, from, to, sinceSeconds, missedSeconds, sources: [...sources] };
    return { format: 1 as const, ...about, ...nothing };
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { poller, chain, catalog } = this.#modules;
    const { tip } = poller.state;
    // While the follower or the listing is behind, it is unknown which blobs are missing.
    if (tip === null || !chain.isWalked || !poller.isListCurrent()) return;
    const windowStart = tip.medianTimeSeconds - RETENTION_SECONDS;
    const open = this.#openReport;
    const rows = catalog.losses.unsaved.since(Math.max(windowStart, open?.sinceSeconds ?? 0));
    const lacking = rows.filter((row) => this.#isLacking(row));
    const report = open ?? this.#nodesOutage(lacking, tip);
    if (report === null) return;
    const found: OutageReport = {
      ...report,
      to: Math.max(report.to, ...(report.kind === 'node' ? lacking.map(({ height }) => height) : [])),
      mayBeLost: catalog.losses.unsaved.between(report.sinceSeconds, windowStart),
      savable: stretchOf(
        rows.filter((row) => !lacking.includes(row)),
        tip,
      ),
      lacking: stretchOf(lacking, tip),
    };
    const isOpen = found.mayBeLost !== null || found.savable !== null || found.lacking !== null;
    this.#tell(isOpen ? found : await this.#ended(found, signal));
  }

  /** Reports whether a node answered that it lacks the blob, and does not list it either. */
  #isLacking({ lastErrorCode, versionHash }: UnsavedBlob): boolean {
    return lastErrorCode === 'archive/absent-at-node' && !this.#modules.poller.isListed(versionHash);
  }

  #nodesOutage(lacking: readonly UnsavedBlob[], tip: ChainTip): OutageReport | null {
    const [first] = lacking;
    if (first === undefined) return null;
    const heights = lacking.map(({ height }) => height);
    const since = first.medianTimeSeconds;
    return this.#begun('node', Math.min(...heights), Math.max(...heights), since, missed(since, tip));
  }

  async #ended(report: OutageReport, signal: AbortSignal): Promise<OutageReport> {
    const { audit, catalog } = this.#modules;
    const { occurrences } = await audit.compare({ from: report.from, to: report.to }, signal);
    return { ...report, endedAt: new Date(catalog.nowMs()).toISOString(), outcome: { ...occurrences } };
  }

  #tell(report: OutageReport): void {
    const before = this.#report;
    if (before === null || !isSame(before, report)) this.#keep(report);
    this.#report = report;
    const { conditions } = this.#modules;
    if (report.endedAt === null) {
      conditions.set('chain:outage', {
        code: report.kind === 'walk' ? 'chain/outage' : 'chain/node-lacks-bytes',
        message: describeOutage(report),
        hint: 'Savable blobs need no action. For blobs that no node has, add a node to HOLDFAST_NODE_URL, or run `holdfast backfill --source`.',
        blocksReadiness: false,
      });
      return;
    }
    if (conditions.has('chain:outage') || before?.endedAt === null) {
      const outcome = Object.entries(report.outcome ?? {}).map(([kind, count]) => `${count} ${kind}`);
      const { from, to } = report;
      conditions.note(
        'chain:outage',
        `the gap from height ${from} to ${to} is closed: ${outcome.join(', ')} occurrences`,
      );
    }
    conditions.set('chain:outage', null);
  }

  #keep(report: OutageReport): void {
    this.#modules.catalog.evidence.put(outagePath(report), report);
    this.#report = report;
  }

  #unfinished(): OutageReport | null {
    return outageReport.safeParse(this.#modules.catalog.evidence.lastWithout('endedAt', OUTAGES)).data ?? null;
  }
}

/** The counts change with every blob; the evidence records the places only. */
function isSame(one: OutageReport, other: OutageReport): boolean {
  const facts = ({ from, to, endedAt, mayBeLost, savable, lacking }: OutageReport) =>
    [from, to, endedAt, mayBeLost === null, savable === null, lacking === null].join();
  return facts(one) === facts(other);
}

function missed(sinceSeconds: number, tip: ChainTip): number {
  return Math.max(0, tip.medianTimeSeconds - sinceSeconds);
}

/** Range of rows by their nearest deadline; null for no rows. */
function stretchOf(rows: readonly UnsavedBlob[], tip: ChainTip): OutageReport['savable'] {
  const [first] = rows;
  if (first === undefined) return null;
  const deadlineSeconds = first.medianTimeSeconds + RETENTION_SECONDS;
  let [from, to] = [first.height, first.height];
  for (const { height } of rows) {
    from = Math.min(from, height);
    to = Math.max(to, height);
  }
  return { blobs: rows.length, from, to, deadlineSeconds, slackSeconds: deadlineSeconds - tip.medianTimeSeconds };
}
