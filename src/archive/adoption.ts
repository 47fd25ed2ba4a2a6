import type { ContentName } from '../blob/ids.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import type { ConditionBoard } from './condition-board.ts';
import { Pulse } from './pulse.ts';

export interface AdoptionModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly rehash: RehashRule;
  readonly conditions: ConditionBoard;
  /** Rings when the queue has to be read anew: what was found here need not be fetched. */
  readonly found: Pulse;
  readonly nowMs: () => number;
}

const GROUP_ENTRIES = 256;
/** A fault of the disk in the middle: it is begun anew after this. */
const RETRY_MS = 5_000;

/**
 * A new catalog over a folder that is not empty: the catalog was lost, the bytes were not. Every blob that hashes to its
 * name gets its row back; until all have, also over restarts, nothing may be called absent.
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

  async run(signal: AbortSignal): Promise<void> {
    while (!this.#isDone && !signal.aborted) {
      try {
        await this.#adoptAll(signal);
        this.#modules.catalog.recordRebuilt();
        this.#isDone = true;
        this.#modules.found.ring();
        this.#modules.conditions.set('rebuild', null);
      } catch (error) {
        if (signal.aborted) return;
        this.#modules.conditions.setError('rebuild', error);
        await this.#pause.wait(RETRY_MS, signal);
      }
    }
  }

  async #adoptAll(signal: AbortSignal): Promise<void> {
    const { store, catalog } = this.#modules;
    let adopted = 0;
    let group: SpooledContent[] = [];
    const commit = () => {
      catalog.recordSpooled(group);
      adopted += group.length;
      group = [];
      if (adopted > 0) this.#tell(adopted);
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

  #tell(adopted: number): void {
    this.#modules.conditions.set('rebuild', {
      code: 'catalog/rebuilding',
      message: `The catalog is empty; blobs in the data folder are verified and indexed (${adopted} so far).`,
      hint: 'Wait: until it is done, a blob that is not found yet is answered with 503, not 404.',
      blocksReadiness: false,
    });
  }
}
