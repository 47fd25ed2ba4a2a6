import type { VersionHash } from '../core/blob/ids.ts';
import type { Raised } from '../core/conditions/condition-board.ts';
import type { BlobNode, ListedBlob } from '../node/blob-node.ts';

/** More entries than six hours of full blocks and a full mempool: a list beyond this is not believed to end. */
export const MAX_LISTED = 1_000_000;

/** Result of one reading of the whole list. */
export interface Sweep {
  /** Every entry by its name, with its median time. */
  readonly found: Map<VersionHash, number | null>;
  /** Entries that could not be read. */
  readonly unreadable: number;
  /** false: there was more than is believed. */
  readonly isEnded: boolean;
}

export interface SweepLimits {
  readonly pageEntries: number;
  readonly maxEntries: number;
  /** false: a page that is not full may end it too, which saves a call; what it did not name may still be listed then. */
  readonly isThorough: boolean;
}

/** Pages in a row that hold nothing but known and unreadable entries; behind more, nothing good is looked for. */
const MAX_BARREN_PAGES = 8;

/**
 * Reads the whole list in large pages, without data. Its order changes while one pages, and pages repeat entries, so
 * they are taken by name. A node may give fewer than it was asked for at any time: only a page with nothing new ends a
 * thorough sweep, and the next page begins behind what is known, never further on.
 */
export async function sweepList(
  node: Pick<BlobNode, 'listBlobs'>,
  limits: SweepLimits,
  takeOver: (entries: readonly ListedBlob[]) => void,
  signal: AbortSignal,
): Promise<Sweep> {
  const { pageEntries, maxEntries, isThorough } = limits;
  const found = new Map<VersionHash, number | null>();
  let unreadable = 0;
  let barrenPages = 0;
  for (let from = 0; from < maxEntries; ) {
    const page = await node.listBlobs({ count: pageEntries, from }, signal);
    const fresh: ListedBlob[] = [];
    for (const entry of page.entries) {
      if (found.has(entry.versionHash)) continue;
      found.set(entry.versionHash, entry.medianTimeSeconds);
      fresh.push(entry);
    }
    takeOver(fresh);
    unreadable += page.unreadable;
    barrenPages = fresh.length === 0 ? barrenPages + 1 : 0;
    const mayGoOn = fresh.length > 0 || (page.unreadable > 0 && barrenPages < MAX_BARREN_PAGES);
    const isShort = page.entries.length + page.unreadable < pageEntries;
    if (!mayGoOn || (isShort && !isThorough)) return { found, unreadable, isEnded: true };
    from += Math.min(fresh.length + page.unreadable, pageEntries);
  }
  return { found, unreadable, isEnded: false };
}

/** The condition that explains why a sweep cannot prove absence; null when it can. */
export function sweepCondition({ found, unreadable, isEnded }: Sweep): Raised | null {
  if (!isEnded) {
    return {
      code: 'archive/list-too-long',
      message: `The node lists more than ${found.size} blobs, many times what six hours can hold: the rest is not read.`,
      hint: 'Look at the node. What the list did not name is answered with 503, not 404.',
      blocksReadiness: true,
    };
  }
  if (unreadable === 0) return null;
  return {
    code: 'archive/unreadable-entries',
    message: `${unreadable} entries of the node’s list could not be read; the other ${found.size} go on.`,
    hint: 'Look at the node, or at what stands before it. What the list did not name is answered with 503, not 404.',
    blocksReadiness: false,
  };
}
