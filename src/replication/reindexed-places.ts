import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { LocalCopies } from './local-copies.ts';
import type { ReindexedPlace } from './reindex.ts';

/** A backend: what the catalog knows it to hold is not read again. */
export function reindexedSite(site: BackendHandle, { replicas }: Catalog, damage: DamageWatch): ReindexedPlace {
  return {
    store: site.store,
    get reports() {
      return damage.reports;
    },
    isKnown: (entry) => replicas.known(site.id, entry, 'hashTypeUnsaid' in entry).some(({ state }) => state === 'good'),
    async prove(name, signal) {
      const finding = await site.read(name, signal);
      if (finding.kind !== 'good') return null;
      const { length } = finding.blob.bytes;
      forgetBytes(finding.blob);
      return length;
    },
    record(found) {
      // Found to be the place of another backend meanwhile: its copies do not count.
      if (!site.isAdmitted) return [];
      const upheld = damage.upheld(site.id, found);
      replicas.recordFound(site.id, upheld);
      for (const one of upheld) damage.healed(site.id, one);
      return upheld;
    },
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
  room: Pick<DiskQuota, 'takeBack' | 'withoutEviction'>,
): ReindexedPlace {
  /** Ends the arrival of each proven blob that is not recorded yet. */
  const arriving = new Map<string, () => void>();
  const enter = (found: readonly SpooledContent[]) => {
    const isInBooks = (name: ContentName) =>
      catalog.replicas.known(local.id, name, false).some(({ state }) => state !== null);
    const missing = found.filter((one) => !isInBooks(one));
    catalog.recordSpooled(found);
    // A crash came between the record of an eviction and the deletion, and the sweep leaves alone what this walk has proven.
    for (const one of missing.filter((name) => !isInBooks(name))) {
      const entry = catalog.find(one.versionHash).find(({ hashType }) => hashType === one.hashType);
      if (entry !== undefined) catalog.replicas.cached.recordCached(entry);
    }
    const came = missing.filter(isInBooks);
    room.takeBack(came.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  };
  return {
    store: local.store,
    get reports() {
      return damage.reports;
    },
    isKnown: () => false,
    async prove(name, signal) {
      const arrived = catalog.arriving.begin(name);
      let isProven = false;
      try {
        // An eviction that began before may have taken the blob out of the books, and be about to delete its bytes.
        await room.withoutEviction(async () => {});
        const finding = await local.read(name, signal);
        if (finding.kind === 'damaged') damage.report(local.id, name);
        isProven = finding.kind === 'good';
        return finding.kind === 'good' ? finding.blob.bytes.length : null;
      } finally {
        if (isProven) {
          // Another walk may have proven the blob as well.
          arriving.get(keyOf(name))?.();
          arriving.set(keyOf(name), arrived);
        } else arrived();
      }
    },
    record(found) {
      try {
        const upheld = damage.upheld(local.id, found);
        enter(upheld);
        return upheld;
      } finally {
        for (const { entry } of found) {
          arriving.get(keyOf(entry))?.();
          arriving.delete(keyOf(entry));
        }
      }
    },
  };
}

function keyOf({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}
