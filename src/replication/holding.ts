import type { ContentName } from '../core/blob/ids.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { recordStores } from './archive-sources.ts';
import type { BackendHandle, CopyFinding } from './backend-handle.ts';
import type { LocalCopies } from './local-copies.ts';

/** A place whose copies are checked: a backend, or a local store that keeps. */
export interface Holding {
  readonly id: string;
  readonly store: ObjectStore;
  /** false: a backend that is not bound to our chain, or that is the place of another one. Its copies do not count. */
  readonly isAdmitted: boolean;
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
    get isAdmitted() {
      return site.isAdmitted;
    },
    ...(bind === undefined ? {} : { bind }),
    records: recordStores([], [site])[0] ?? null,
    look: (name, signal) => site.look(name, signal),
  };
}

export function localHolding(local: LocalCopies): Holding {
  return {
    id: local.id,
    store: local.store,
    isAdmitted: true,
    records: local.store,
    look: async (name, signal) => (await local.examine(name, signal)).kind,
  };
}
