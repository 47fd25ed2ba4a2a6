import type { Catalog } from '../catalog/catalog.ts';
import { listDocuments, type ObjectStore } from '../storage/object-store.ts';

/** `occurrences/<hash type>/<version hash>/<height>-<txid>-<vout>.json` */
const RECORD = /^occurrences\/[a-z0-9]+\/[0-9a-f]{64}\/(\d{1,10})-/;

/**
 * Finds the lowest height of which a record lies in this store, and notes it in the catalog: down to there the chain has
 * to be walked before the catalog knows what is final. Reads names only, and holds one of them at a time.
 */
export async function noteRecordedFloor(
  store: Pick<ObjectStore, 'properties' | 'list'>,
  catalog: { readonly chain: Pick<Catalog['chain'], 'recordFloor'> },
  signal: AbortSignal,
): Promise<void> {
  if (!store.properties.holds.has('record')) return;
  let lowest: number | null = null;
  for await (const { path } of listDocuments(store, 'occurrences/', signal)) {
    const height = RECORD.exec(path)?.[1];
    if (height !== undefined) lowest = Math.min(lowest ?? Number.POSITIVE_INFINITY, Number(height));
  }
  if (lowest !== null) catalog.chain.recordFloor(lowest);
}
