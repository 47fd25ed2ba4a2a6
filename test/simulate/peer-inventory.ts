import { decodeHex } from '../../src/core/blob/hex.ts';
import type { VersionHash } from '../../src/core/blob/ids.ts';
import { hashTypeCode } from '../../src/core/sqlite/hash-type-code.ts';
import { commitmentScript } from '../../src/devnode/chain/script.ts';
import { inventoryOf } from '../../src/federation/inventory-of-range.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import { HOLDINGS, type Holding, type InventoryBlock, OCCURRENCE_BYTES } from '../../src/verify/inventory.ts';
import { FIRST_HEIGHT } from './simulated-chain.ts';
import type { Truth } from './truth.ts';

/** The statement of a peer about the chain that the network agrees on. */
export interface ToldInventory {
  readonly holdingOf: (versionHash: VersionHash) => Holding;
  /** Whether one occurrence is left out, as by an archive of another branch. */
  readonly isParted: boolean;
}

/** The answer to `v1/inventory` of an archive that has walked everything. null: nothing is final yet. */
export async function inventoryAnswer(
  path: string,
  truth: Truth,
  told: ToldInventory,
  hasher: BlobHasher,
  signal: AbortSignal,
): Promise<object | null> {
  const { tree, locks } = truth.main.chain;
  const query = new URL(path, 'http://peer').searchParams;
  const from = Number(query.get('from') ?? FIRST_HEIGHT);
  const to = Number(query.get('to') ?? locks.bestBlock?.height ?? 0);
  if (to < from) return null;
  const blocks: InventoryBlock[] = [];
  for (let height = from; height <= to; height += 1) {
    const block = tree.at(height);
    const packed = (block?.transactions ?? []).flatMap(({ txid, content, outputs }) => {
      if (content === null) return [];
      const { versionHash, hashType } = content;
      const script = commitmentScript(hashType, versionHash);
      const vout = outputs.findIndex((output) => Buffer.compare(output.script, script) === 0);
      const one = Buffer.alloc(OCCURRENCE_BYTES);
      one.set(decodeHex(txid));
      one.writeUInt32BE(vout, 32);
      one[36] = hashTypeCode(hashType);
      one.set(decodeHex(versionHash), 37);
      one[OCCURRENCE_BYTES - 1] = HOLDINGS.indexOf(told.holdingOf(versionHash));
      return [one];
    });
    if (block === null || packed.length === 0) continue;
    blocks.push({ height, blockHash: decodeHex(block.hash), occurrences: Buffer.concat(packed) });
  }
  const last = told.isParted ? blocks.pop() : undefined;
  if (last !== undefined && last.occurrences.length > OCCURRENCE_BYTES) {
    blocks.push({ ...last, occurrences: last.occurrences.subarray(OCCURRENCE_BYTES) });
  }
  const count = blocks.reduce((sum, { occurrences }) => sum + occurrences.length / OCCURRENCE_BYTES, 0);
  const snapshot = {
    occurrences: () => count,
    *inventory() {
      yield blocks;
    },
  };
  return { format: 1, chain: tree.at(0)?.hash, ...(await inventoryOf(snapshot, { from, to }, hasher, signal)) };
}
