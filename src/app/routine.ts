import type { Catalog } from '../catalog/catalog.ts';
import type { ChainAudit } from '../chain/chain-audit.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import type { Canary } from '../replication/canary.ts';
import type { DailyScrub } from '../replication/daily-scrub.ts';
import type { ClockWatch } from './clock-watch.ts';

export interface RoutineModules {
  readonly scrub: DailyScrub;
  readonly canary: Canary;
  readonly audit: ChainAudit;
  readonly clock: ClockWatch;
  readonly catalog: Pick<Catalog, 'bounded' | 'maintain'>;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
}

/** What is looked after without anybody asking. When, its caller says. */
export class Routine {
  readonly scrub: DailyScrub;
  readonly canary: Canary;
  readonly audit: ChainAudit;
  readonly clock: ClockWatch;
  readonly #modules: RoutineModules;

  constructor(modules: RoutineModules) {
    this.#modules = modules;
    this.scrub = modules.scrub;
    this.canary = modules.canary;
    this.audit = modules.audit;
    this.clock = modules.clock;
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
