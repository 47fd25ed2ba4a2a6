import type { ContentName } from '../core/blob/ids.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import { recordStores } from './archive-sources.ts';
import type { BackendHandle, CopyFinding } from './backend-handle.ts';
import { examineLocal } from './local-copy.ts';

/** A place whose copies are checked: a backend, or a local store that keeps. */
export interface Holding {
  readonly id: string;
  readonly store: ObjectStore;
  /** The store of its occurrence records; null: it has none (IPFS). */
  readonly records: ObjectStore | null;
  /** Sees that it belongs to our chain, and says so there again where that is gone. Absent: it has no place to say it. */
  bind?(signal: AbortSignal): Promise<void>;
  /** The state of its copy; one that seems bad is read again on a fresh connection before it is called so. */
  look(name: ContentName, signal: AbortSignal): Promise<CopyFinding['kind']>;
}

export function siteHolding(site: BackendHandle, bind?: Holding['bind']): Holding {
  return {
    id: site.id,
    store: site.store,
    ...(bind === undefined ? {} : { bind }),
    records: recordStores([], [site])[0] ?? null,
    look: (name, signal) => site.look(name, signal),
  };
}

export function localHolding(store: LocalStore, rehash: RehashRule): Holding {
  return {
    id: store.id,
    store,
    records: store,
    look: async (name, signal) => (await examineLocal(name, store, rehash, signal)).kind,
  };
}
