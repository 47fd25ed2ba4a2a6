import type { Catalog } from '../catalog/catalog.ts';
import type { OverdueKind } from '../catalog/seen-table.ts';
import { deadlineOf, RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { BackendHandle } from '../replication/backend-handle.ts';
import type { DamageWatch } from '../replication/damage-watch.ts';
import type { Activity } from '../view/activity.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import type { Routine } from './routine.ts';

/** Shares of the window, in percent, at which what is late is counted. */
export const LATE_PERCENT = [50, 75, 90] as const;

export interface FigureModules {
  /** The state as people see it: no figure differs from that. */
  readonly archive: { status(): ArchiveStatus; readonly toldOverdue: OverdueKind };
  readonly catalog: Catalog;
  readonly sites: readonly BackendHandle[];
  readonly damage: DamageWatch;
  readonly routine: Routine;
  readonly activity: Activity;
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
    const { activity, catalog } = modules;
    activity.on('tip', () => {
      this.#tipSeenMs = catalog.nowMs();
    });
    activity.on('lost', () => {
      this.#losses += 1;
    });
    activity.on('reorganised', () => {
      this.#reorganisations += 1;
    });
  }

  read() {
    const { archive, routine } = this.#modules;
    const status = archive.status();
    return {
      node: this.#node(status),
      chain: this.#chain(status),
      content: this.#content(status),
      backends: status.backends.map((backend) => this.#backend(backend)),
      peers: status.peers,
      attestedSeconds: secondsAt(status.attested?.at ?? null),
      local: { ...status.local, isCache: status.local.mode === 'cache' },
      conditions: status.conditions,
      canary: [...routine.canary.results.values()],
      audit: routine.audit.tally,
      blockClockOffsetSeconds: routine.clock.blockOffsetSeconds,
    };
  }

  #node({ node, list }: ArchiveStatus) {
    return {
      isUp: node.reachable,
      lastAnswerSeconds: secondsAt(node.lastAnswerAt),
      height: node.height,
      medianTimeSeconds: node.medianTimeSeconds,
      tipSeenSeconds: secondsOf(this.#tipSeenMs),
      listedEntries: list.entries,
    };
  }

  #chain({ chain, node }: ArchiveStatus) {
    const { catalog } = this.#modules;
    const { tip } = catalog.chain.state;
    const { startHeight, height, lagBlocks, finalHeight, lost } = chain;
    const nodeTime = node.medianTimeSeconds;
    const lastBlob = catalog.figures.lastBlobBlock();
    return {
      ...{ startHeight, height, lagBlocks, finalHeight, lost },
      lagSeconds: nodeTime === null || tip === null ? null : Math.max(0, nodeTime - tip.medianTimeSeconds),
      finalMedianTimeSeconds:
        finalHeight === null ? null : (catalog.chain.blockAt(finalHeight)?.medianTimeSeconds ?? null),
      lastBlobHeight: lastBlob?.height ?? null,
      lastBlobMedianTimeSeconds: lastBlob?.medianTimeSeconds ?? null,
      lossesRecorded: this.#losses,
      reorganisations: this.#reorganisations,
    };
  }

  #content({ content, node, archiveRule }: ArchiveStatus) {
    const { archive, catalog } = this.#modules;
    const tipSeconds = node.medianTimeSeconds;
    const slack = (earliest: number | null) =>
      tipSeconds === null || earliest === null ? null : deadlineOf(earliest) - tipSeconds;
    const [newest] = catalog.page('newest', null, 1);
    return {
      ...content,
      ...catalog.figures.setAside(),
      notArchivedByRule: archiveRule.notArchived,
      overdue: tipSeconds === null ? null : catalog.figures.overdue(tipSeconds, archive.toldOverdue),
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

  #backend({ id, state, ...told }: ArchiveStatus['backends'][number]) {
    const { sites, catalog, damage } = this.#modules;
    const offsetMs = sites.find((site) => site.id === id)?.store.clockOffsetMs ?? null;
    return {
      id,
      ...told,
      isUp: state === 'good',
      damagedFound: damage.found.get(id) ?? 0,
      healed: damage.healedCopies.get(id) ?? 0,
      scrubbedShare: catalog.replicas.progress(id, 'daily') / Math.max(1, catalog.replicas.lastSequence()),
      clockOffsetSeconds: offsetMs === null ? null : offsetMs / 1_000,
    };
  }
}

function secondsAt(time: string | null): number | null {
  return time === null ? null : Date.parse(time) / 1_000;
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}
