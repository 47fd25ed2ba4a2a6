import type { Catalog } from '../catalog/catalog.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { LocalCopies } from './local-copies.ts';
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
  local: LocalCopies,
  catalog: Catalog,
  damage: DamageWatch,
  room: Pick<DiskQuota, 'takeBack'>,
): ReindexedPlace {
  return {
    store: local.store,
    isKnown: () => false,
    async prove(name, signal) {
      const finding = await local.read(name, signal);
      if (finding.kind === 'damaged') damage.report(local.id, name);
      return finding.kind === 'good' ? finding.blob.bytes.length : null;
    },
    record(found) {
      const isInBooks = (name: ContentName) =>
        catalog.replicas.known(local.id, name, false).some(({ state }) => state !== null);
      const missing = found.filter((one) => !isInBooks(one));
      catalog.recordSpooled(found);
      // A file of a blob that a backend holds may stay in no books here, and be found at every walk: the next start sweeps it up.
      const came = missing.filter(isInBooks);
      room.takeBack(came.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    },
  };
}
