import type { Catalog } from '../catalog/catalog.ts';
import type { ChainAudit } from '../chain/chain-audit.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import type { Canary } from '../replication/canary.ts';
import type { DailyScrub } from '../replication/daily-scrub.ts';
import type { Replication } from '../replication/replication.ts';
import type { ClockWatch } from './clock-watch.ts';

export interface RoutineModules {
  readonly scrub: DailyScrub;
  readonly canary: Canary;
  readonly audit: ChainAudit;
  readonly clock: ClockWatch;
  readonly replication: Pick<Replication, 'lookAtRoom'>;
  readonly catalog: Pick<Catalog, 'bounded' | 'maintain'>;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
}

/** Regular maintenance. The caller decides when it runs. */
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

  /** Fetches something through every backend, and asks how much room is there. */
  async lookAtBackends(signal: AbortSignal): Promise<void> {
    await this.#modules.replication.lookAtRoom(signal);
    await this.canary.run(signal);
  }

  /** Maintains the catalog: trims what grows without end, then the file. */
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

  /** Raises the condition that a heartbeat was refused, with the answer. */
  heartbeatTold(failure: string | null): void {
    this.#modules.conditions.set(
      'heartbeat',
      failure === null
        ? null
        : {
            code: 'heartbeat/not-taken',
            message: `The heartbeat does not arrive: ${failure}.`,
            hint: 'The service at HOLDFAST_HEARTBEAT_URL will raise an alarm although the archive works. Check that setting and the service.',
            blocksReadiness: false,
          },
    );
  }
}
