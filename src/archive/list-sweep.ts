import type { VersionHash } from '../blob/ids.ts';
import type { BlobNode, ListedBlob } from './blob-node.ts';

/** More entries than six hours of full blocks and a full mempool: a list beyond this is not believed to end. */
export const MOST_LISTED = 1_000_000;

/** What one reading of the whole list found. */
export interface Sweep {
  /** Every entry by its name, with its median time. */
  readonly found: Map<VersionHash, number | null>;
  /** false: there was more than is believed, so what it does not name may still be listed. */
  readonly isWhole: boolean;
}

/**
 * Reads the whole list in large pages, without data. Its order changes while one pages, and pages repeat entries, so
 * they are taken by name. A node may give fewer than it was asked for at any time: only a page with nothing new ends it,
 * and the next page begins behind what is known, never further on.
 */
export async function sweepList(
  node: BlobNode,
  limits: { readonly pageEntries: number; readonly mostEntries: number },
  takeOver: (entries: readonly ListedBlob[]) => void,
  signal: AbortSignal,
): Promise<Sweep> {
  const { pageEntries, mostEntries } = limits;
  const found = new Map<VersionHash, number | null>();
  for (let from = 0; from < mostEntries; ) {
    const page = await node.listBlobs({ count: pageEntries, from }, signal);
    const fresh: ListedBlob[] = [];
    for (const entry of page) {
      if (found.has(entry.versionHash)) continue;
      found.set(entry.versionHash, entry.medianTimeSeconds);
      fresh.push(entry);
    }
    takeOver(fresh);
    if (fresh.length === 0) return { found, isWhole: true };
    from += Math.min(fresh.length, pageEntries);
  }
  return { found, isWhole: false };
}
