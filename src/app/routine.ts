import type { ChainAudit } from '../chain/chain-audit.ts';
import { joinedError } from '../core/blob/errors.ts';
import type { Canary } from '../replication/canary.ts';
import type { DailyScrub } from '../replication/daily-scrub.ts';
import type { Replication } from '../replication/replication.ts';
import type { CatalogMaintenance } from './catalog-maintenance.ts';
import type { ClockWatch } from './clock-watch.ts';

export interface RoutineModules {
  readonly scrub: DailyScrub;
  readonly canary: Canary;
  readonly audit: ChainAudit;
  readonly clock: ClockWatch;
  readonly replication: Pick<Replication, 'lookAtRoom'>;
  readonly maintenance: CatalogMaintenance;
}

/** Regular maintenance. The caller decides when it runs. */
export class Routine {
  readonly scrub: DailyScrub;
  readonly canary: Canary;
  readonly audit: ChainAudit;
  readonly clock: ClockWatch;
  readonly maintenance: CatalogMaintenance;
  readonly #modules: RoutineModules;

  constructor(modules: RoutineModules) {
    this.#modules = modules;
    this.scrub = modules.scrub;
    this.canary = modules.canary;
    this.audit = modules.audit;
    this.clock = modules.clock;
    this.maintenance = modules.maintenance;
  }

  /**
   * Fetches something through every backend, asks how much room is there, and looks again at what an audit missed. A
   * failed look does not stop the others. Rejects when all have ended, with every failure.
   */
  async lookAtBackends(signal: AbortSignal): Promise<void> {
    const { replication } = this.#modules;
    const looks = [this.canary.run(signal), this.audit.lookAgain(signal), replication.lookAtRoom(signal)];
    const ended = await Promise.allSettled(looks);
    const [first, ...others] = ended.flatMap((look): { reason: unknown }[] =>
      look.status === 'rejected' ? [look] : [],
    );
    if (first !== undefined) throw joinedError([first.reason, ...others.map(({ reason }) => reason)]);
  }
}
