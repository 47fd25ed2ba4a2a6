import type { Catalog } from '../catalog/catalog.ts';
import { deadlineOf, RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { Condition } from '../core/conditions/condition.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Poller } from '../ingest/poller.ts';
import type { DamageWatch } from '../replication/damage-watch.ts';
import type { Replication } from '../replication/replication.ts';
import type { Activity } from '../view/activity.ts';
import type { ArchiveStatus, PeerStatus } from '../view/archive-view.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { Routine } from './routine.ts';

/** Shares of the window, in percent, at which what is late is counted. */
export const LATE_PERCENT = [50, 75, 90] as const;

export interface FigureModules {
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly chain: ChainState;
  readonly replication: Replication;
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
  /** Conditions that hold now, as the status shows them. */
  readonly standing: () => readonly Condition[];
  readonly routine: Routine;
  readonly peers: readonly { readonly status: PeerStatus }[];
  readonly attestor: { readonly summary: ArchiveStatus['attested'] };
  readonly activity: Activity;
  readonly clock: Clock;
}

export type Figures = ReturnType<ArchiveFigures['read']>;

/** The archive's state in numbers: seconds, bytes, blobs; null without a value. */
export class ArchiveFigures {
  readonly #modules: FigureModules;
  #tipSeenMs: number | null = null;
  #losses = 0;
  #reorganisations = 0;

  constructor(modules: FigureModules) {
    this.#modules = modules;
    const { activity, clock } = modules;
    activity.on('tip', () => {
      this.#tipSeenMs = clock.wallMs();
    });
    activity.on('lost', () => {
      this.#losses += 1;
    });
    activity.on('reorganised', () => {
      this.#reorganisations += 1;
    });
  }

  read() {
    return {
      node: this.#node(),
      chain: this.#chain(),
      content: this.#content(),
      backends: this.#backends(),
      peers: this.#modules.peers.map(({ status }) => status),
      attestedSeconds: this.#attestedSeconds(),
      local: this.#local(),
      conditions: this.#modules.standing(),
      canary: [...this.#modules.routine.canary.results.values()],
      audit: this.#modules.routine.audit.tally,
      blockClockOffsetSeconds: this.#modules.routine.clock.blockOffsetSeconds,
    };
  }

  #attestedSeconds(): number | null {
    const last = this.#modules.attestor.summary;
    return secondsOf(last === null ? null : Date.parse(last.at));
  }

  #node() {
    const { poller, conditions } = this.#modules;
    const { tip, lastAnswerMs, entries } = poller.state;
    return {
      isUp: lastAnswerMs !== null && !conditions.has('node'),
      lastAnswerSeconds: secondsOf(lastAnswerMs),
      height: tip?.height ?? null,
      medianTimeSeconds: tip?.medianTimeSeconds ?? null,
      tipSeenSeconds: secondsOf(this.#tipSeenMs),
      listedEntries: entries,
    };
  }

  #chain() {
    const { catalog, chain, poller } = this.#modules;
    const { startHeight, tip } = catalog.chain.state;
    const final = chain.finalHeight;
    const nodeTime = poller.state.tip?.medianTimeSeconds ?? null;
    const lastBlob = catalog.figures.lastBlobBlock();
    return {
      startHeight,
      height: tip?.height ?? null,
      lagBlocks: chain.lagBlocks,
      lagSeconds: nodeTime === null || tip === null ? null : Math.max(0, nodeTime - tip.medianTimeSeconds),
      finalHeight: final,
      finalMedianTimeSeconds: final === null ? null : (catalog.chain.blockAt(final)?.medianTimeSeconds ?? null),
      lastBlobHeight: lastBlob?.height ?? null,
      lastBlobMedianTimeSeconds: lastBlob?.medianTimeSeconds ?? null,
      lost: catalog.losses.count(),
      lossesRecorded: this.#losses,
      reorganisations: this.#reorganisations,
    };
  }

  #content() {
    const { catalog, poller } = this.#modules;
    const tipSeconds = poller.state.tip?.medianTimeSeconds ?? null;
    const slack = (earliest: number | null) =>
      tipSeconds === null || earliest === null ? null : deadlineOf(earliest) - tipSeconds;
    const [newest] = catalog.page('newest', null, 1);
    return {
      ...catalog.totals(),
      ...catalog.figures.setAside(),
      notArchivedByRule: catalog.leftOut.summary.count,
      failing: catalog.queueSummary().failing,
      overdue: tipSeconds === null ? null : catalog.figures.overdue(tipSeconds),
      unspooledSlackSeconds: tipSeconds === null ? null : slack(catalog.figures.earliestUnspooled(tipSeconds)),
      unstoredSlackSeconds: tipSeconds === null ? null : slack(catalog.figures.earliestUnstored(tipSeconds)),
      late: tipSeconds === null ? [] : LATE_PERCENT.map((percent) => ({ percent, ...this.#late(tipSeconds, percent) })),
      newestSpooledSeconds: secondsOf(newest?.spooledMs ?? null),
    };
  }

  #late(tipSeconds: number, percent: number) {
    return this.#modules.catalog.losses.lateness(
      tipSeconds - RETENTION_SECONDS,
      tipSeconds - (RETENTION_SECONDS * percent) / 100,
    );
  }

  #backends() {
    const { replication, catalog, damage: watch } = this.#modules;
    return replication.status().map(({ id, state, queued, oldestQueuedSeconds, damaged, freeBytes }) => {
      const offsetMs = replication.sites.find((site) => site.id === id)?.store.clockOffsetMs ?? null;
      return {
        id,
        isUp: state === 'good',
        queued,
        oldestQueuedSeconds,
        damaged,
        freeBytes,
        damagedFound: watch.found.get(id) ?? 0,
        healed: watch.healedCopies.get(id) ?? 0,
        scrubbedShare: catalog.replicas.progress(id, 'daily') / Math.max(1, catalog.replicas.lastSequence()),
        clockOffsetSeconds: offsetMs === null ? null : offsetMs / 1_000,
      };
    });
  }

  #local() {
    const { room } = this.#modules.replication;
    return { isCache: room.isCache, bytes: room.bytes, budgetBytes: room.budgetBytes };
  }
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}
