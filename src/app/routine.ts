import type { ChainAudit } from '../chain/chain-audit.ts';
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

  /** Fetches something through every backend, asks how much room is there, and looks again at what an audit missed. */
  async lookAtBackends(signal: AbortSignal): Promise<void> {
    await this.canary.run(signal);
    await this.audit.lookAgain(signal);
    // Last, for a disk that does not answer ends it.
    await this.#modules.replication.lookAtRoom(signal);
  }
}
