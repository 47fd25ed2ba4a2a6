import type { RescueSource } from '../chain/loss-search.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { StoreAround } from '../storage/around-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { ProbeFinding } from '../storage/probe.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';
import type { BackendHandle } from './backend-handle.ts';

/** The sources of a blob's bytes besides the nodes: the data folder, where a crash may have left some, and every backend. */
export function bytesSources(store: Pick<ObjectStore, 'id' | 'get'>, sites: readonly BackendHandle[]): RescueSource[] {
  const local: RescueSource = {
    name: `store ${store.id}`,
    find: async (name, signal) => unverified(name, await store.get(name, signal)),
  };
  return [local, ...sites.map(siteSource)];
}

function siteSource(site: BackendHandle): RescueSource {
  return {
    name: `backend ${site.id}`,
    async find(name, signal, isAgain) {
      site.admit();
      const ask = (store: ObjectStore) => site.judged(() => store.get(name, signal), signal);
      return unverified(name, isAgain ? await site.afresh(ask) : await ask(site.store));
    },
  };
}

function unverified({ hashType, versionHash }: ContentName, bytes: Uint8Array | null): UnverifiedBlob | null {
  return bytes === null ? null : { hashType, versionHash, bytes };
}

/** The stores of records and evidence, as far as they may be written to now: before they are bound to our chain they refuse. */
export function recordStores(local: readonly ObjectStore[], sites: readonly BackendHandle[]): ObjectStore[] {
  const named = sites.filter(({ store }) => store.properties.holds.has('record'));
  return [...local, ...named.map((site) => admittedStore(site))];
}

/**
 * A backend that refuses until it is bound to our chain, and while its breaker leaves it alone. `store`: the same place over
 * another connection.
 */
export function admittedStore(site: BackendHandle, store: ObjectStore = site.store): ObjectStore {
  return new AdmittedStore(site, store);
}

class AdmittedStore extends StoreAround {
  readonly #site: BackendHandle;

  constructor(site: BackendHandle, store: ObjectStore) {
    super(store, async (_question, ask, signal) => {
      site.admit();
      return await site.judged(ask, signal);
    });
    this.#site = site;
  }

  override probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return this.#site.findings(signal);
  }
}
