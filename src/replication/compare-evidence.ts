import type { Catalog } from '../catalog/catalog.ts';
import { listDocuments, type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath } from '../storage/record-path.ts';

const PAGE_DOCUMENTS = 500;

/**
 * This archiver's evidence that a backend lists against what was brought there: what has left it is brought again. Both
 * come in the order of paths, so that nothing but one page is held. Gives how many are missing.
 */
export async function compareEvidence(
  store: ObjectStore,
  catalog: Catalog,
  archiverId: string,
  signal: AbortSignal,
): Promise<number> {
  const { evidence } = catalog;
  const prefix = `audit/${archiverId}/`;
  const delivered = evidence.deliveredTo(store.id) ?? 0;
  const listing = listDocuments(store, prefix, signal)[Symbol.asyncIterator]();
  const nextListed = async () => {
    const { done, value } = await listing.next();
    return done === true ? null : value.path.slice(prefix.length);
  };
  let missing = 0;
  let first = delivered;
  try {
    let listed = await nextListed();
    for (let after = ''; ; ) {
      const page = evidence.page(after, PAGE_DOCUMENTS);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.path;
      for (const { path, sequence } of page) {
        while (listed !== null && listed < path) listed = await nextListed();
        if (listed === path || sequence > delivered) continue;
        // A listing may be late: only what the store answers it has not got is missing.
        if ((await readText(store, parseRecordPath(prefix + path), signal)) !== null) continue;
        missing += 1;
        first = Math.min(first, sequence - 1);
      }
    }
  } finally {
    await listing.return?.();
  }
  if (missing > 0) evidence.recordUndelivered(store.id, first);
  return missing;
}
