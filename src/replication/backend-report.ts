import type { Catalog } from '../catalog/catalog.ts';
import { SPOOL } from '../catalog/placement-table.ts';
import type { BackendStatus } from '../view/archive-view.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { NodeListing } from './unmined-expiry.ts';

/** The state of every place that counts: the data folder, unless it is a cache, and the backends. */
export class BackendReport {
  readonly #catalog: Catalog;
  readonly #room: DiskQuota;
  readonly #sites: readonly BackendHandle[];
  readonly #poller: Pick<NodeListing, 'state'>;

  constructor(catalog: Catalog, room: DiskQuota, sites: readonly BackendHandle[], poller: Pick<NodeListing, 'state'>) {
    this.#catalog = catalog;
    this.#room = room;
    this.#sites = sites;
    this.#poller = poller;
  }

  read(): BackendStatus[] {
    const catalog = this.#catalog;
    const tipSeconds = this.#poller.state.tip?.medianTimeSeconds ?? null;
    const countsOf = (id: string) => ({
      queued: catalog.replicas.queued(id),
      oldestQueuedSeconds: secondsSince(catalog.figures.earliestQueued(id), tipSeconds),
      damaged: catalog.replicas.damagedCount(id),
      rule: catalog.replicas.ruleOf(id),
    });
    const remote = this.#sites.map(({ id, isAdmitted, isLeftAlone, freeBytes }) => ({
      id,
      freeBytes,
      state: !isAdmitted ? ('not-admitted' as const) : isLeftAlone ? ('left-alone' as const) : ('good' as const),
      ...countsOf(id),
    }));
    if (this.#room.isCache) return remote;
    const { freeBytes } = this.#room.status;
    return [{ id: SPOOL, state: 'good' as const, freeBytes, ...countsOf(SPOOL) }, ...remote];
  }
}

function secondsSince(since: number | null, nowSeconds: number | null): number | null {
  return since === null || nowSeconds === null ? null : Math.max(0, nowSeconds - since);
}
