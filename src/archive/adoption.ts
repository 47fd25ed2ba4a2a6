import type { ContentName } from '../blob/ids.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import type { ConditionBoard } from './condition-board.ts';
import { Pulse } from './pulse.ts';
import { type Adopted, adoptCopies } from './replicate/adopt-copies.ts';
import type { Site } from './replicate/site.ts';

export interface AdoptionModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly rehash: RehashRule;
  readonly conditions: ConditionBoard;
  readonly sites: readonly Site[];
  /** Bound to no chain when this process took it. */
  readonly isNewFolder: boolean;
  /** Rings when the queue has to be read anew: what was found here need not be fetched. */
  readonly found: Pulse;
  readonly nowMs: () => number;
}

const GROUP_ENTRIES = 256;
/** A fault of the disk or a backend in the middle: it is begun anew after this. */
const RETRY_MS = 5_000;
/** How often it is looked whether a backend was let in. */
const ADMISSION_PAUSE_MS = 100;

/**
 * A new catalog over a folder or backends that are not empty: the catalog was lost, the bytes were not. Every blob that
 * hashes to its name gets its row back; until all have, also over restarts, nothing may be called absent.
 */
export class Adoption {
  readonly #modules: AdoptionModules;
  readonly #pause = new Pulse();
  #isDone: boolean;

  constructor(modules: AdoptionModules) {
    this.#modules = modules;
    this.#isDone = modules.catalog.isRebuilt();
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** What lies in the data folder. Nothing there may be read back for the first time before. */
  async adoptFolder(signal: AbortSignal): Promise<void> {
    await this.#insist(() => this.#adoptFolder(signal), signal);
  }

  /** What the backends hold, each as soon as it is let in; then the catalog is whole. */
  async adoptBackends(signal: AbortSignal): Promise<void> {
    const { sites, catalog, found, conditions, isNewFolder } = this.#modules;
    // A node of IPFS may hold the blocks of others: a folder that never had a catalog has lost nothing to it.
    const chosen = sites.filter(({ store }) => !isNewFolder || store.bindTo !== undefined);
    await Promise.all(chosen.map((site) => this.#insist(() => this.#adoptFrom(site, signal), signal)));
    if (this.#isDone || signal.aborted) return;
    await this.#insist(async () => catalog.recordRebuilt(), signal);
    this.#isDone = true;
    found.ring();
    conditions.set('rebuild', null);
  }

  async #insist(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!this.#isDone && !signal.aborted) {
      try {
        await work();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#modules.conditions.setError('rebuild', error);
        await this.#pause.wait(RETRY_MS, signal);
      }
    }
  }

  async #adoptFrom(site: Site, signal: AbortSignal): Promise<void> {
    while (!site.isAdmitted && !signal.aborted) await this.#pause.wait(ADMISSION_PAUSE_MS, signal);
    signal.throwIfAborted();
    const progress = ({ adopted }: Adopted) => {
      if (adopted > 0) this.#tell(adopted, site.id);
    };
    await adoptCopies(site, { ...this.#modules, progress }, signal);
  }

  async #adoptFolder(signal: AbortSignal): Promise<void> {
    const { store, catalog } = this.#modules;
    let adopted = 0;
    let group: SpooledContent[] = [];
    const commit = () => {
      catalog.recordSpooled(group);
      adopted += group.length;
      group = [];
      if (adopted > 0) this.#tell(adopted, 'the data folder');
    };
    for await (const entry of store.list(signal)) {
      if (await this.#isGood(entry, signal)) group.push(this.#row(entry, entry.sizeBytes));
      if (group.length >= GROUP_ENTRIES) commit();
    }
    commit();
  }

  async #isGood(name: ContentName, signal: AbortSignal): Promise<boolean> {
    const copy = await this.#modules.store.copy(name, signal);
    return copy !== null && this.#modules.rehash.prove(name, copy.blob.bytes, copy.identity) !== null;
  }

  #row({ hashType, versionHash }: ContentName, sizeBytes: number): SpooledContent {
    const firstSeenMs = this.#modules.nowMs();
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
