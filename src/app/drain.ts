import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { JobTable } from '../core/jobs/job-table.ts';
import type { Clock } from '../core/time/clock.ts';
import { isoTime } from '../reading/content-record.ts';
import type { Replication } from '../replication/replication.ts';
import type { DrainStatus } from '../view/drain-status.ts';

export interface DrainModules {
  readonly catalog: Catalog;
  readonly replication: Pick<Replication, 'status'>;
  readonly poller: { pause(isPaused: boolean): void };
  readonly fetcher: { readonly idle: boolean };
  readonly conditions: ConditionBoard;
  readonly clock: Clock;
}

/**
 * Before a planned stop: nothing new is begun, what is here goes to the backends, and readiness says so, so that balancers
 * send readers elsewhere. Readers are still answered, and the chain is still walked: what has to be fetched, and by when,
 * stays known, and alarms go off as ever. A restart takes work again.
 */
export class Drain {
  readonly #modules: DrainModules;
  readonly #jobs: Pick<JobTable, 'refuse' | 'list'>;
  #sinceMs: number | null = null;

  constructor(jobs: Pick<JobTable, 'refuse' | 'list'>, modules: DrainModules) {
    this.#jobs = jobs;
    this.#modules = modules;
  }

  begin(): void {
    const { poller, conditions, clock } = this.#modules;
    this.#sinceMs ??= clock.wallMs();
    poller.pause(true);
    this.#jobs.refuse('It is being drained.');
    conditions.set('drain', {
      code: 'archive/draining',
      message: 'An operator has it finish its work and take none.',
      hint: 'DELETE /admin/drain, or a restart, has it take work again.',
      blocksReadiness: true,
    });
  }

  end(): void {
    const { poller, conditions } = this.#modules;
    if (this.#sinceMs === null) return;
    this.#sinceMs = null;
    this.#jobs.refuse(null);
    conditions.set('drain', null);
    poller.pause(false);
  }

  get status(): DrainStatus {
    const { fetcher, replication } = this.#modules;
    const queued = Object.fromEntries(replication.status().map(({ id, queued: count }) => [id, count]));
    const runningJobs = this.#jobs.list().filter(({ state }) => state === 'running').length;
    const isDraining = this.#sinceMs !== null;
    const isIdle = fetcher.idle && runningJobs === 0 && Object.values(queued).every((count) => count === 0);
    const since = isoTime(this.#sinceMs);
    return { isDraining, since, isDone: isDraining && isIdle, fetching: !fetcher.idle, runningJobs, queued };
  }
}
