import type { Catalog } from '../catalog/catalog.ts';
import { AuditWatch, type AuditWatchModules } from '../chain/audit-watch.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import { Canary } from '../replication/canary.ts';
import type { CustomUpkeep } from '../replication/custom/custom-upkeep.ts';
import { DailyScrub, type ScrubOptions } from '../replication/daily-scrub.ts';
import type { DamageWatch } from '../replication/damage-watch.ts';
import { localHolding } from '../replication/holding.ts';
import type { Replication } from '../replication/replication.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import { ClockWatch } from './clock-watch.ts';

export interface RoutineModules {
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly rehash: RehashRule;
  /** The data folder's own come first. */
  readonly records: readonly ObjectStore[];
  readonly damage: DamageWatch;
  readonly replication: Replication;
  readonly archiverId?: string;
  readonly custom: CustomUpkeep;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly finalHeight: () => number | null;
  readonly audit: AuditWatchModules['audit'];
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** What is looked after without anybody asking. When, its caller says. */
export class Routine {
  readonly scrub: DailyScrub;
  readonly canary: Canary;
  readonly audit: AuditWatch;
  readonly clock: ClockWatch;
  readonly #modules: RoutineModules;

  constructor(scrub: ScrubOptions, modules: RoutineModules) {
    this.#modules = modules;
    const { replication, store, rehash } = modules;
    this.scrub = new DailyScrub(scrub, modules);
    this.canary = new Canary({
      ...modules,
      holdings: () => [
        ...(replication.room.isCache ? [] : [localHolding(store, rehash)]),
        ...replication.holdings(({ isAdmitted }) => isAdmitted),
      ],
      random: Math.random,
    });
    this.audit = new AuditWatch(modules);
    this.clock = new ClockWatch({ ...modules, sites: replication.sites });
  }

  /** Of the catalog: what would grow for ever, then its file. */
  maintain(): void {
    const { catalog, log } = this.#modules;
    const rows = catalog.bounded.enforce();
    if (Object.values(rows).some((count) => count > 0)) log.info({ rows }, 'old rows left the catalog');
    catalog.maintain();
  }

  /** A scheduled task ended: well where `error` is null. */
  taskEnded(task: string, error: unknown): void {
    const { conditions } = this.#modules;
    if (error === null) conditions.set(`task:${task}`, null);
    else conditions.setError(`task:${task}`, error, false);
  }

  /** Nobody takes the sign of life, and what they said. */
  heartbeatTold(failure: string | null): void {
    this.#modules.conditions.set(
      'heartbeat',
      failure === null
        ? null
        : {
            code: 'heartbeat/not-taken',
            message: `The heartbeat does not arrive: ${failure}.`,
            hint: 'Whoever listens there will raise an alarm though the archive does its work. Look at HOLDFAST_HEARTBEAT_URL and at that service.',
            blocksReadiness: false,
          },
    );
  }
}
