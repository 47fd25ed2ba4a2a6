import type { BackendStatus } from '../view/archive-view.ts';
import type { Admissions } from './admissions.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { BackendReport } from './backend-report.ts';
import type { DiskQuota, DiskQuotaOptions } from './disk-quota.ts';
import { type Holding, localHolding, siteHolding } from './holding.ts';
import type { LocalCopies } from './local-copies.ts';
import type { LocalUpkeep } from './local-upkeep.ts';
import type { Replicator, ReplicatorOptions } from './replicator.ts';

export interface ReplicationOptions extends ReplicatorOptions {
  readonly local: DiskQuotaOptions;
}

export interface ReplicationModules {
  readonly admissions: Admissions;
  /** One for each backend. */
  readonly replicators: readonly Replicator[];
  readonly folder: LocalUpkeep;
  readonly local: LocalCopies;
  readonly room: DiskQuota;
  readonly report: BackendReport;
}

/** Keeps copies of each blob in more than one place: backends, the data folder and what moves between them. */
export class Replication {
  readonly #modules: ReplicationModules;
  #isRunning = false;

  constructor(modules: ReplicationModules) {
    this.#modules = modules;
  }

  get sites(): readonly BackendHandle[] {
    return this.#modules.admissions.sites;
  }

  get room(): DiskQuota {
    return this.#modules.room;
  }

  get folder(): LocalUpkeep {
    return this.#modules.folder;
  }

  /** false: a command works alone on the archive, and what is queued stays so. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { admissions, replicators, folder } = this.#modules;
    this.#isRunning = true;
    await Promise.all([
      admissions.run(signal),
      ...replicators.map((replicator) => replicator.run(signal)),
      folder.run(signal),
    ]);
  }

  /**
   * Tries once to let each backend in, for commands that run once. Gives why some cannot be used.
   * @throws StorageError `storage/other-chain` where backends belong to different chains
   */
  admit(signal: AbortSignal): Promise<Map<string, string>> {
    return this.#modules.admissions.tryOnce(signal);
  }

  /**
   * Brings to these backends all that can be brought there now. Beside an archive that runs, which brings new blobs there
   * by itself and for ever: until nothing is damaged there, or no more of it can be repaired.
   */
  async drain(backends: readonly string[], signal: AbortSignal): Promise<void> {
    const chosen = this.#modules.replicators.filter(({ id }) => backends.includes(id));
    await Promise.all(chosen.map((replicator) => replicator.drain(signal, this.#isRunning)));
  }

  /** The places whose copies are checked: the data folder, unless it is a cache, and these backends. */
  holdings(which: (site: BackendHandle) => boolean = () => true): Holding[] {
    const { admissions, local, room } = this.#modules;
    const sites = this.sites.filter(which).map((site) => {
      if (!site.store.properties.holds.has('binding')) return siteHolding(site);
      return siteHolding(site, (signal) => admissions.bind(site, signal));
    });
    return room.isCache ? sites : [localHolding(local), ...sites];
  }

  /** Asks every backend in use, and the disk, how much room there is. */
  async lookAtRoom(signal: AbortSignal): Promise<void> {
    await Promise.all(this.sites.map((site) => site.lookAtRoom(signal)));
    await this.#modules.folder.mender.lookAtDisk();
    await this.room.lookAtDisk();
  }

  status(): BackendStatus[] {
    return this.#modules.report.read();
  }
}
