import type { Catalog } from '../catalog/catalog.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Notifier } from '../core/notifier.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';
import { type Next, pause, pollUntil, runLoop } from '../core/time/run-loop.ts';
import { StorageError } from '../storage/errors.ts';
import type { ListedBlob } from '../storage/object-store.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { AdoptedCustom } from './custom/adopt-custom.ts';
import type { CustomUpkeep } from './custom/custom-upkeep.ts';
import { type Adopted, Reindex, type ReindexedPlace } from './reindex.ts';

export interface CatalogRebuildModules {
  readonly places: {
    /** The data folder. */
    readonly folder: ReindexedPlace;
    backend(site: BackendHandle): ReindexedPlace;
  };
  readonly catalog: Catalog;
  readonly conditions: ConditionBoard;
  readonly sites: readonly BackendHandle[];
  readonly custom: CustomUpkeep;
  /** Bound to no chain when this process took it. */
  readonly isNewFolder: boolean;
  /** Notifies when the queue has to be read again: blobs that were found here need not be fetched. */
  readonly found: Notifier;
}

/** Pause between two looks whether a backend was let in. */
const ADMISSION_PAUSE_MS = 100;

/**
 * A new catalog over a folder or backends that are not empty: the catalog was lost, the bytes were not. Every blob that
 * hashes to its name gets its row back; until all have, also over restarts, nothing may be called absent.
 */
export class CatalogRebuild {
  readonly #modules: CatalogRebuildModules;
  readonly #folder: Reindex;
  /** Each backend that was walked. */
  readonly #sites = new Map<BackendHandle, Reindex>();
  /** The reason why the data folder could not be listed to its end; null: it was. */
  #folderFault: string | null = null;
  #isDone: boolean;
  /** Rebuilds that an operator asked for, under way now. */
  #rebuilding = 0;

  constructor(modules: CatalogRebuildModules) {
    this.#modules = modules;
    this.#isDone = modules.catalog.isRebuilt();
    const { places, catalog, custom } = modules;
    this.#folder = new Reindex(places.folder, catalog, custom, (found) => this.#tell(found, 'the data folder'));
  }

  /** All but what the disk does not give is indexed; of that the folder itself tells that it is there. */
  get isDone(): boolean {
    return this.#isDone && this.#rebuilding === 0;
  }

  /** All was indexed once. A rebuild that an operator asked for calls that in doubt, and takes nothing back. */
  get isIndexed(): boolean {
    return this.#isDone;
  }

  /** The reason why a part of the data folder is not indexed; null: all of it is. */
  get folderFault(): string | null {
    const { unread, customFault } = this.#folder;
    if (unread.size > 0) return `${unread.size} blobs in the data folder cannot be read.`;
    return this.#folderFault ?? customFault;
  }

  /** A backend that was found to be the place of another one since its walk is not among them: nothing waits for it. */
  get #walked(): readonly Reindex[] {
    const used = [...this.#sites].filter(([site]) => site.isAdmitted);
    return [this.#folder, ...used.map(([, one]) => one)];
  }

  /** All blobs that a place lists and that could not be read. */
  get #orphans(): readonly ContentName[] {
    return this.#walked.flatMap(({ unread }) => [...unread.values()]);
  }

  get #hasLeftOver(): boolean {
    return this.#folderFault !== null || this.#walked.some((one) => one.unread.size > 0 || one.customFault !== null);
  }

  /** Calls nothing absent while the work runs: the operator who asked for it has reason to doubt the catalog. */
  async whileRebuilding<T>(work: () => Promise<T>): Promise<T> {
    this.#rebuilding += 1;
    try {
      return await work();
    } finally {
      this.#rebuilding -= 1;
      this.#modules.found.notify();
    }
  }

  /** Indexes the data folder. Nothing there may be read back for the first time before this. */
  async adoptFolder(signal: AbortSignal): Promise<void> {
    await this.#retryUntilDone(async () => void (await this.readFolder(signal)), signal);
  }

  /**
   * Reads and indexes the data folder, also where that was done before. Gives the custom bytes that it found. Until it is read
   * to its end some of it may be unreadable, and the catalog is not recorded as whole.
   */
  async readFolder(signal: AbortSignal): Promise<Readonly<Record<string, AdoptedCustom>>> {
    this.#folderFault = 'The data folder has not been read to its end.';
    this.#folder.unread.clear();
    this.#folderFault = await this.#readBlobs(signal);
    return await this.#folder.others(signal);
  }

  /** Gives the reason why the folder could not be listed to its end; null: it was. */
  async #readBlobs(signal: AbortSignal): Promise<string | null> {
    try {
      await this.#folder.blobs(signal);
      return null;
    } catch (error) {
      signal.throwIfAborted();
      // The blobs that were listed are indexed; the rest is listed again later, and everything else goes on.
      if (!(error instanceof StorageError)) throw error;
      return error.message;
    }
  }

  /** A walk over one backend that indexes what it holds. `told` is called with the progress. */
  reindexOf(site: BackendHandle, told: (found: Adopted) => void = () => {}): Reindex {
    const { catalog, custom, places } = this.#modules;
    return new Reindex(places.backend(site), catalog, custom, told);
  }

  /** Reads blobs that a listing of this place has named, and indexes those that are whole. Gives their number. */
  async adoptListed(place: string, entries: readonly ListedBlob[], signal: AbortSignal): Promise<number> {
    const { sites, places, catalog, custom } = this.#modules;
    const site = sites.find(({ id }) => id === place);
    const one = site === undefined ? new Reindex(places.folder, catalog, custom) : this.reindexOf(site);
    return (await one.listed(entries, signal)).adopted;
  }

  /** Indexes each backend as soon as it is let in; then the catalog is whole. */
  async adoptBackends(signal: AbortSignal): Promise<void> {
    const { sites, catalog, found, conditions, isNewFolder } = this.#modules;
    // A node of IPFS may hold the blocks of others: a folder that never had a catalog has lost nothing to it.
    const chosen = sites.filter(({ store }) => !isNewFolder || store.properties.holds.has('binding'));
    await Promise.all(chosen.map((site) => this.#retryUntilDone(() => this.#adoptFrom(site, signal), signal)));
    if (this.#isDone || signal.aborted) return;
    // The next process looks again, as long as something could not be read.
    await this.#retryUntilDone(async () => {
      if (!this.#hasLeftOver) catalog.recordRebuilt();
      this.#isDone = true;
    }, signal);
    if (signal.aborted) return;
    found.notify();
    conditions.set('rebuild', null);
    await this.#retryUnread(signal);
  }

  async #retryUnread(signal: AbortSignal): Promise<void> {
    const { catalog, conditions, found } = this.#modules;
    if (!this.#hasLeftOver) return;
    let tries = 0;
    const step = async (): Promise<Next> => {
      conditions.set('rebuild', this.#unreadCondition());
      tries += 1;
      await pause(backoffMs(BACKOFF.whole, tries), signal);
      if (this.#folderFault !== null) await this.readFolder(signal);
      for (const one of this.#walked) await one.again(signal);
      found.notify();
      if (this.#hasLeftOver) return 0;
      catalog.recordRebuilt();
      conditions.set('rebuild', null);
      return 'done';
    };
    await runLoop('rebuild', step, { signal, backoff: BACKOFF.whole, tell: (error) => this.#tellFault(error) });
  }

  async #retryUntilDone(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      if (!this.#isDone) await work();
      return 'done';
    };
    await runLoop('rebuild', step, { signal, backoff: BACKOFF.whole, tell: (error) => this.#tellFault(error) });
  }

  /** Reports a fault only; the work itself reports its progress. */
  #tellFault(error: unknown): void {
    if (error !== null) this.#modules.conditions.setError('rebuild', error);
  }

  async #adoptFrom(site: BackendHandle, signal: AbortSignal): Promise<void> {
    const isSettled = () => (site.isAdmitted || site.twinOf !== null ? true : null);
    await pollUntil(isSettled, () => ADMISSION_PAUSE_MS, signal);
    // The same place under another address: its blobs are indexed through the backend that is in use.
    if (!site.isAdmitted) return;
    // The same object lasts over a listing that broke off: it asks for the unread blobs again after all others.
    const one = this.#sites.get(site) ?? this.reindexOf(site, (found) => this.#tell(found, site.id));
    this.#sites.set(site, one);
    await one.blobs(signal);
    await one.others(signal);
  }

  #tell({ adopted }: Adopted, where: string): void {
    if (adopted === 0 || this.#isDone) return;
    this.#modules.conditions.set('rebuild', {
      code: 'catalog/rebuilding',
      message: `The catalog is new; blobs in ${where} are verified and indexed (${adopted} so far).`,
      hint: 'Wait: until it is done, a blob that is not found yet is answered with 503, not 404.',
      blocksReadiness: false,
    });
  }

  #unreadCondition() {
    const [first] = this.#orphans;
    const blobs = `${this.#orphans.length} blobs in the data folder or on backends cannot be read, one is ${first?.versionHash}.`;
    const custom = this.#walked.flatMap(({ id, customFault }) =>
      customFault === null ? [] : [`${id}: ${customFault}`],
    );
    return {
      code: 'archive/unreadable-files',
      message: [first === undefined ? null : blobs, this.#folderFault, ...custom]
        .filter((one) => one !== null)
        .join(' '),
      hint: 'Look at the disk or server and at the rights of these files. They are tried again; until then they are answered with 503.',
      blocksReadiness: false,
    };
  }
}
