import type { Catalog } from '../catalog/catalog.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import { forgetBytes, type RehashRule } from '../verify/verified-blob.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { ReindexedPlace } from './reindex.ts';

/** A backend: what the catalog knows it to hold is not read again. */
export function reindexedSite(site: BackendHandle, { replicas }: Catalog): ReindexedPlace {
  return {
    store: site.store,
    isKnown: (entry) => replicas.known(site.id, entry, 'hashTypeUnsaid' in entry).some(({ state }) => state === 'good'),
    async prove(name, signal) {
      const finding = await site.read(name, signal);
      if (finding.kind !== 'good') return null;
      const { length } = finding.blob.bytes;
      forgetBytes(finding.blob);
      return length;
    },
    record: (found) => replicas.recordFound(site.id, found),
  };
}

/**
 * The data folder: all of it is read, and a file of other bytes than its name says is told. Blobs that come back into the books
 * take up room, which a cache has to count.
 */
export function reindexedFolder(
  store: LocalStore,
  catalog: Catalog,
  rehash: RehashRule,
  damage: DamageWatch,
  room: Pick<DiskQuota, 'takeBack'>,
): ReindexedPlace {
  return {
    store,
    isKnown: () => false,
    async prove(name, signal) {
      const copy = await store.copy(name, signal);
      if (copy === null) return null;
      const proven = rehash.prove(name, copy.blob.bytes, copy.identity);
      if (proven === null) damage.report(store.id, name);
      return proven?.bytes.length ?? null;
    },
    record(found) {
      const isInBooks = (name: ContentName) =>
        catalog.replicas.known(store.id, name, false).some(({ state }) => state !== null);
      const missing = found.filter((one) => !isInBooks(one));
      catalog.recordSpooled(found);
      // A file of a blob that a backend holds may stay in no books here, and be found at every walk: the next start sweeps it up.
      const came = missing.filter(isInBooks);
      room.takeBack(came.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    },
  };
}
