import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { AuditSnapshot } from '../catalog/audit-snapshot.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import {
  digestOfBlock,
  digestText,
  type Holding,
  HoldingRuns,
  holdingsOf,
  InventoryTree,
  spanOf,
  zeroHoldings,
} from '../verify/inventory.ts';
import type { InventoryPart } from '../view/inventory-view.ts';

export interface InventoryOfRange extends InventoryPart {
  readonly parts: readonly InventoryPart[] | null;
  readonly held: string | null;
}

const MAX_PARTS = 256;
/** Up to so many occurrences are listed one by one: 32 KiB at worst, and a few bytes where nearly all are held. */
export const MAX_LISTED = 16_384;
/** Smaller parts than of so many occurrences on average would make an answer larger than what they save. */
const OCCURRENCES_A_PART = MAX_LISTED / 4;

/**
 * Reads the occurrences of a range in steps of some milliseconds, between which everything else goes on. Holds one
 * block of them at a time. Rejects with the signal's reason.
 */
export async function inventoryOf(
  snapshot: Pick<AuditSnapshot, 'occurrences' | 'inventory'>,
  { from, to }: { readonly from: number; readonly to: number },
  hasher: BlobHasher,
  signal: AbortSignal,
): Promise<InventoryOfRange> {
  const total = snapshot.occurrences(from, to);
  const isListed = total <= MAX_LISTED;
  const runs = new HoldingRuns();
  const whole = new InventoryTree(hasher);
  const sum = zeroHoldings();
  const parts: InventoryPart[] = [];
  const partHeights = isListed ? 2 ** 32 : heightsOfPart(from, to, total);
  let part: OpenPart | null = null;
  const endPart = () => {
    if (part === null) return;
    const span = spanOf(part.from, part.to);
    const digest = part.tree.root(span);
    whole.add(span, digest);
    parts.push({ from: part.from, to: part.to, counts: part.counts, digest: digestText(digest) });
    part = null;
  };
  for (const step of snapshot.inventory(from, to)) {
    for (const one of step) {
      const { height } = one;
      if (part === null || height > part.to) {
        endPart();
        const first = Math.floor(height / partHeights) * partHeights;
        part = openPart(Math.max(from, first), Math.min(to, first + partHeights - 1), hasher);
      }
      for (const holding of holdingsOf(one)) {
        part.counts[holding] += 1;
        sum[holding] += 1;
        if (isListed) runs.add(holding);
      }
      part.tree.add({ level: 0, index: height }, digestOfBlock(hasher, one));
    }
    await letOthersWork(undefined, { signal });
  }
  endPart();
  const digest = digestText(whole.root(spanOf(from, to)));
  return { from, to, counts: sum, digest, parts: isListed ? null : parts, held: isListed ? runs.text() : null };
}

interface OpenPart {
  readonly from: number;
  readonly to: number;
  readonly tree: InventoryTree;
  readonly counts: Record<Holding, number>;
}

function openPart(from: number, to: number, hasher: BlobHasher): OpenPart {
  return { from, to, tree: new InventoryTree(hasher), counts: zeroHoldings() };
}

/** The smallest power of two of which so few aligned stretches make up the range: 256, or fewer where it has few occurrences. */
function heightsOfPart(from: number, to: number, occurrences: number): number {
  const most = Math.min(MAX_PARTS, Math.ceil(occurrences / OCCURRENCES_A_PART));
  let heights = 1;
  while (Math.floor(to / heights) - Math.floor(from / heights) + 1 > most) heights *= 2;
  return heights;
}
