import { parseBlockHash } from '../../src/core/blob/ids.ts';
import type { InventoryLookup, InventoryView } from '../../src/view/inventory-view.ts';

const HASH = parseBlockHash('cd'.repeat(32));
const COUNTS = { missing: 1, stored: 2, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 };

/** The same for every range; `trouble` in its place, where a test sets it. */
export class FakeInventory implements InventoryView {
  trouble: InventoryLookup | null = null;
  asked: [from: number | null, to: number | null][] = [];

  async inventory(from: number | null, to: number | null): Promise<InventoryLookup> {
    this.asked.push([from, to]);
    const part = { from: from ?? 1, to: to ?? 9, counts: COUNTS, digest: HASH };
    const parts = from === null ? [part] : null;
    const held = from === null ? null : '2s1m';
    return (
      this.trouble ?? {
        kind: 'found',
        inventory: { ...part, parts, held, chain: HASH, finalHeight: 9, blockHash: HASH },
      }
    );
  }
}
