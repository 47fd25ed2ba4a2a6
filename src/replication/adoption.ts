import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Notifier } from '../core/notifier.ts';
import type { Logger } from '../core/observability/logger.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, pause, pollUntil, runLoop } from '../core/time/run-loop.ts';
import { StorageError } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import { type ListedBlob, listBlobs } from '../storage/object-store.ts';
import type { RehashRule, VerifiedBlob } from '../verify/verified-blob.ts';
import { type Adopted, adoptCopies, adoptUnread } from './adopt-copies.ts';
import type { CustomUpkeep } from './custom/custom-upkeep.ts';
import type { DamageWatch } from './damage-watch.ts';
import { noteRecordedFloor } from './recorded-floor.ts';
import type { Site } from './site.ts';

export interface AdoptionModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly rehash: RehashRule;
  readonly conditions: ConditionBoard;
  readonly sites: readonly Site[];
  readonly custom: CustomUpkeep;
  readonly damage: DamageWatch;
  /** Bound to no chain when this process took it. */
  readonly isNewFolder: boolean;
  /** Rings when the queue has to be read anew: what was found here need not be fetched. */
  readonly found: Notifier;
  readonly log: Logger;
  readonly clock: Clock;
}

const GROUP_ENTRIES = 256;
/** Files that cannot be read, remembered to be tried again. */
const MAX_UNREAD = 100_000;
/** How often it is looked whether a backend was let in. */
const ADMISSION_PAUSE_MS = 100;

/**
 * A new catalog over a folder or backends that are not empty: the catalog was lost, the bytes were not. Every blob that
 * hashes to its name gets its row back; until all have, also over restarts, nothing may be called absent.
 */
export class Adoption {
  readonly #modules: AdoptionModules;
  /** What lies in the folder and the disk does not give: tried again, while everything else goes on. */
  #unread: ListedBlob[] = [];
  /** The same of each backend. */
  readonly #unreadAt = new Map<Site, Map<string, ListedBlob>>();
  /** Places whose custom commitments could not be read, or not all, and why. */
  readonly #customUnread = new Map<string, string>();
  /** Why the data folder could not be listed to its end; null: it was. */
  #folderFault: string | null = null;
  #isDone: boolean;
  /** Rebuilds that somebody asked for, under way now. */
  #rebuilding = 0;

  constructor(modules: AdoptionModules) {
    this.#modules = modules;
    this.#isDone = modules.catalog.isRebuilt();
  }

  /** All but what the disk does not give is indexed; of that the folder itself tells that it is there. */
  get isDone(): boolean {
    return this.#isDone && this.#rebuilding === 0;
  }

  get unread(): number {
    return this.#unread.length;
  }

  /** Why the data folder could not be listed to its end; null: it was. */
  get folderFault(): string | null {
    return this.#folderFault;
  }

  /** All that lies somewhere and could not be read. */
  get #orphans(): readonly ContentName[] {
    return [...this.#unread, ...[...this.#unreadAt.values()].flatMap((unread) => [...unread.values()])];
  }

  get #hasLeftOver(): boolean {
    return this.#orphans.length > 0 || this.#customUnread.size > 0 || this.#folderFault !== null;
  }

  /** For as long as the work takes, nothing is called absent: somebody has reason to think that the catalog is not whole. */
  async whileRebuilding<T>(work: () => Promise<T>): Promise<T> {
    this.#rebuilding += 1;
    try {
      return await work();
    } finally {
      this.#rebuilding -= 1;
      this.#modules.found.notify();
    }
  }

  /** Reads and indexes what lies in the data folder, also where that was done before. Throws what the disk says. */
  async readFolder(signal: AbortSignal): Promise<void> {
    await this.#adoptFolder(signal);
  }

  /** What lies in the data folder. Nothing there may be read back for the first time before. */
  async adoptFolder(signal: AbortSignal): Promise<void> {
    await this.#insist(() => this.#adoptFolder(signal), signal);
  }

  /** What the backends hold, each as soon as it is let in; then the catalog is whole. */
  async adoptBackends(signal: AbortSignal): Promise<void> {
    const { sites, catalog, found, conditions, isNewFolder } = this.#modules;
    // A node of IPFS may hold the blocks of others: a folder that never had a catalog has lost nothing to it.
    const chosen = sites.filter(({ store }) => !isNewFolder || store.properties.holds.has('binding'));
    await Promise.all(chosen.map((site) => this.#insist(() => this.#adoptFrom(site, signal), signal)));
    if (this.#isDone || signal.aborted) return;
    // The next process looks again, as long as something could not be read.
    await this.#insist(async () => {
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
      conditions.set('rebuild', unreadCondition(this.#orphans, this.#customUnread, this.#folderFault));
      tries += 1;
      await pause(backoffMs(BACKOFF.whole, tries), signal);
      if (this.#folderFault === null) await this.#adopt(this.#unread.splice(0), signal);
      else await this.#adoptFolder(signal);
      for (const [site, unread] of this.#unreadAt) {
        await adoptUnread(site, unread, { ...this.#modules, progress: () => {} }, signal);
      }
      for (const id of this.#customUnread.keys()) await this.#adoptCustom(id, signal);
      found.notify();
      if (this.#hasLeftOver) return 0;
      catalog.recordRebuilt();
      conditions.set('rebuild', null);
      return 'done';
    };
    await runLoop('rebuild', step, { signal, backoff: BACKOFF.whole, tell: (error) => this.#tellFault(error) });
  }

  async #insist(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      if (!this.#isDone) await work();
      return 'done';
    };
    await runLoop('rebuild', step, { signal, backoff: BACKOFF.whole, tell: (error) => this.#tellFault(error) });
  }

  /** How far it has come is told by the work itself. */
  #tellFault(error: unknown): void {
    if (error !== null) this.#modules.conditions.setError('rebuild', error);
  }

  async #adoptFrom(site: Site, signal: AbortSignal): Promise<void> {
    const isSettled = () => (site.isAdmitted || site.twinOf !== null ? true : null);
    await pollUntil(isSettled, () => ADMISSION_PAUSE_MS, signal);
    // The same place under another address: its blobs are indexed through the backend that is in use.
    if (!site.isAdmitted) return;
    const progress = ({ adopted }: Adopted) => {
      if (adopted > 0) this.#tell(adopted, site.id);
    };
    // Over a listing that broke off: what was not given then is not asked for again before everything else was.
    const unread = this.#unreadAt.get(site) ?? new Map<string, ListedBlob>();
    this.#unreadAt.set(site, unread);
    await adoptCopies(site, unread, { ...this.#modules, progress }, signal);
    await this.#adoptCustom(site.id, signal);
    await noteRecordedFloor(site.store, this.#modules.catalog, signal);
  }

  async #adoptCustom(place: string, signal: AbortSignal): Promise<void> {
    this.#customUnread.delete(place);
    await this.#modules.custom.adopt(place, null, signal, (id, why) => this.#customUnread.set(id, why));
  }

  async #adoptFolder(signal: AbortSignal): Promise<void> {
    this.#unread = [];
    this.#folderFault = null;
    try {
      await this.#adopt(listBlobs(this.#modules.store, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      // What could be listed is indexed; the rest is listed again later, and everything else goes on.
      if (!(error instanceof StorageError)) throw error;
      this.#folderFault = error.message;
    }
    await this.#adoptCustom(this.#modules.store.id, signal);
    await noteRecordedFloor(this.#modules.store, this.#modules.catalog, signal);
  }

  async #adopt(entries: Iterable<ListedBlob> | AsyncIterable<ListedBlob>, signal: AbortSignal): Promise<void> {
    const { catalog } = this.#modules;
    let adopted = 0;
    let group: SpooledContent[] = [];
    const commit = () => {
      catalog.recordSpooled(group);
      adopted += group.length;
      group = [];
      if (adopted > 0 && !this.#isDone) this.#tell(adopted, 'the data folder');
    };
    try {
      for await (const entry of entries) {
        if (catalog.withheld.has(entry)) continue;
        const good = await this.#provenHere(entry, signal);
        if (good !== null) group.push(this.#row(good, good.bytes.length));
        if (group.length >= GROUP_ENTRIES) commit();
      }
    } finally {
      commit();
    }
  }

  /** null: its bytes are others, or cannot be read now. One that cannot be read holds up no others. */
  async #provenHere(entry: ListedBlob, signal: AbortSignal): Promise<VerifiedBlob | null> {
    const { store, rehash, log, damage } = this.#modules;
    try {
      const copy = await store.copy(entry, signal);
      if (copy === null) return null;
      const proven = rehash.prove(entry, copy.blob.bytes, copy.identity);
      if (proven === null) damage.report(store.id, entry);
      return proven;
    } catch (error) {
      signal.throwIfAborted();
      // A disk that gives nothing: it is begun anew, and no list of all that it holds is kept.
      if (this.#unread.length >= MAX_UNREAD) throw error;
      log.warn({ error, versionHash: entry.versionHash }, 'a blob in the data folder cannot be read');
      this.#unread.push(entry);
      return null;
    }
  }

  #row({ hashType, versionHash }: ContentName, sizeBytes: number): SpooledContent {
    const firstSeenMs = this.#modules.clock.wallMs();
    return { hashType, versionHash, sizeBytes, txid: null, medianTimeSeconds: null, firstSeenMs };
  }

  #tell(adopted: number, where: string): void {
    this.#modules.conditions.set('rebuild', {
      code: 'catalog/rebuilding',
      message: `The catalog is new; blobs in ${where} are verified and indexed (${adopted} so far).`,
      hint: 'Wait: until it is done, a blob that is not found yet is answered with 503, not 404.',
      blocksReadiness: false,
    });
  }
}

function unreadCondition(
  unread: readonly ContentName[],
  custom: ReadonlyMap<string, string>,
  folderFault: string | null,
) {
  const blobs = `${unread.length} blobs in the data folder or on backends cannot be read, one is ${unread[0]?.versionHash}.`;
  const others = [...custom].map(([place, why]) => `${place}: ${why}`);
  return {
    code: 'archive/unreadable-files',
    message: [...(unread.length > 0 ? [blobs] : []), ...(folderFault === null ? [] : [folderFault]), ...others].join(
      ' ',
    ),
    hint: 'Look at the disk or server and at the rights of these files. They are tried again; until then they are answered with 503.',
    blocksReadiness: false,
  };
}
