import { encodeHex } from '../core/blob/hex.ts';
import type { BlobHasher } from './hasher.ts';

/**
 * Inventory of the final occurrences in a range of heights: what the chain has, and what an archive holds of it.
 * `digest(block) = Keccak256(00 ‖ block hash ‖ per occurrence, in the order of the block: txid ‖ vout (4 bytes, big-endian)
 * ‖ hash type (1, 2) ‖ version hash ‖ holding (1 byte))`, hashes as they are written; two neighbouring halves of 2^k
 * aligned heights are joined by `Keccak256(01 ‖ left ‖ right)`, where a half without occurrences is 32 zero bytes. The digest
 * of a range is that of the smallest aligned 2^k heights around the range, with the heights outside of the range left empty.
 *
 * Format 1 lists the holdings of up to 16,384 occurrences. It cuts a range with more into aligned parts of 2^k heights: the
 * smallest k with at most 256 parts, and at most one part for each 4,096 occurrences. Other sizes are another format.
 */

/** States of one occurrence in an archive, in the order of the codes 0 to 5. `not-archived-by-rule`: its operator's rule leaves it out. */
export const HOLDINGS = ['missing', 'stored', 'lost', 'withheld', 'custom', 'not-archived-by-rule'] as const;
export type Holding = (typeof HOLDINGS)[number];
export type HoldingCounts = Readonly<Record<Holding, number>>;

/** Counts to add to. */
export function zeroHoldings(): Record<Holding, number> {
  return { missing: 0, stored: 0, lost: 0, withheld: 0, custom: 0, 'not-archived-by-rule': 0 };
}

export const DIGEST_BYTES = 32;
const NOTHING = new Uint8Array(DIGEST_BYTES);
const LEAF = 0;
const INNER = 1;

/** Height of the root above the blocks, and its place in its row, for a range of heights. */
export interface InventorySpan {
  readonly level: number;
  readonly index: number;
}

/** The smallest aligned power of two of heights that has both ends; heights up to 2^32 − 1. */
export function spanOf(from: number, to: number): InventorySpan {
  let level = 0;
  let [low, high] = [from, to];
  while (low !== high) {
    low = Math.floor(low / 2);
    high = Math.floor(high / 2);
    level += 1;
  }
  return { level, index: low };
}

interface TreeNode extends InventorySpan {
  readonly digest: Uint8Array;
}

/** Joins digests of blocks, or of aligned ranges, that come in the order of their heights; holds one digest a level. */
export class InventoryTree {
  readonly #hasher: Pick<BlobHasher, 'keccak256'>;
  readonly #nodes: TreeNode[] = [];
  readonly #pair = new Uint8Array(1 + 2 * DIGEST_BYTES);

  constructor(hasher: Pick<BlobHasher, 'keccak256'>) {
    this.#hasher = hasher;
    this.#pair[0] = INNER;
  }

  /** Each next one lies above the last, and does not overlap it. */
  add(span: InventorySpan, digest: Uint8Array): void {
    const last = this.#nodes.at(-1);
    if (last !== undefined) this.#raise(levelsApart(last, span));
    this.#nodes.push({ ...span, digest });
  }

  /** The digest of this span; 32 zero bytes where nothing was added. Nothing can be added after it. */
  root({ level }: InventorySpan): Uint8Array {
    if (this.#nodes.length === 0) return NOTHING.slice();
    this.#raise(level);
    return this.#nodes.at(-1)?.digest ?? NOTHING.slice();
  }

  /** Joins the newest node with its neighbours, level by level, until it is a node of that level. */
  #raise(level: number): void {
    for (let newest = this.#nodes.pop(); newest !== undefined; newest = this.#nodes.pop()) {
      if (newest.level >= level) {
        this.#nodes.push(newest);
        return;
      }
      const isRight = newest.index % 2 === 1;
      const left = this.#nodes.at(-1);
      const hasLeft = isRight && left?.level === newest.level && left.index === newest.index - 1;
      if (hasLeft) this.#nodes.pop();
      const digest = isRight
        ? this.#join(hasLeft && left !== undefined ? left.digest : NOTHING, newest.digest)
        : this.#join(newest.digest, NOTHING);
      this.#nodes.push({ level: newest.level + 1, index: Math.floor(newest.index / 2), digest });
    }
  }

  #join(left: Uint8Array, right: Uint8Array): Uint8Array {
    this.#pair.set(left, 1);
    this.#pair.set(right, 1 + DIGEST_BYTES);
    return this.#hasher.keccak256(this.#pair);
  }
}

/** The level below the one at which both lie under one node. */
function levelsApart(last: InventorySpan, next: InventorySpan): number {
  let { level } = last;
  let [low, high] = [last.index, Math.floor((next.index * 2 ** next.level) / 2 ** last.level)];
  while (Math.floor(low / 2) !== Math.floor(high / 2)) {
    low = Math.floor(low / 2);
    high = Math.floor(high / 2);
    level += 1;
  }
  return level;
}

/** A block with occurrences. */
export interface InventoryBlock {
  readonly height: number;
  /** 32 bytes, as they are written. */
  readonly blockHash: Uint8Array;
  /** `OCCURRENCE_BYTES` each, in the order of the block. */
  readonly occurrences: Uint8Array;
}

/** txid 32, vout 4, hash type 1, version hash 32, holding 1. */
export const OCCURRENCE_BYTES = 70;

/** @throws RangeError when the occurrences are not whole, or one has a holding that does not exist. */
export function holdingsOf({ occurrences }: Pick<InventoryBlock, 'occurrences'>): Holding[] {
  if (occurrences.length % OCCURRENCE_BYTES !== 0) throw new RangeError('an occurrence takes 70 bytes');
  return Array.from({ length: occurrences.length / OCCURRENCE_BYTES }, (_, index) => {
    const holding = HOLDINGS[occurrences[(index + 1) * OCCURRENCE_BYTES - 1] ?? -1];
    if (holding === undefined) throw new RangeError('a holding is a number from 0 to 5');
    return holding;
  });
}

export function digestOfBlock(
  hasher: Pick<BlobHasher, 'keccak256'>,
  { blockHash, occurrences }: InventoryBlock,
): Uint8Array {
  const bytes = new Uint8Array(1 + DIGEST_BYTES + occurrences.length);
  bytes[0] = LEAF;
  bytes.set(blockHash, 1);
  bytes.set(occurrences, 1 + DIGEST_BYTES);
  return hasher.keccak256(bytes);
}

const LETTERS: Readonly<Record<Holding, string>> = {
  missing: 'm',
  stored: 's',
  lost: 'l',
  withheld: 'w',
  custom: 'c',
  'not-archived-by-rule': 'n',
};
const RUN = /(\d{1,10})([mslwcn])/gy;

/** Run lengths, as in `12s1m`: twelve stored, then one missing. */
export class HoldingRuns {
  #text = '';
  #newest: Holding | null = null;
  #length = 0;

  add(holding: Holding): void {
    if (holding !== this.#newest) this.#end();
    this.#newest = holding;
    this.#length += 1;
  }

  text(): string {
    this.#end();
    return this.#text;
  }

  #end(): void {
    if (this.#newest !== null && this.#length > 0) this.#text += `${this.#length}${LETTERS[this.#newest]}`;
    this.#newest = null;
    this.#length = 0;
  }
}

/** null: the text is no run lengths, or not of exactly so many occurrences. */
export function parseHoldingRuns(text: string, occurrences: number): Holding[] | null {
  const found: Holding[] = [];
  let end = 0;
  for (const { 0: run, 1: length, 2: letter } of text.matchAll(RUN)) {
    const holding = HOLDINGS.find((one) => LETTERS[one] === letter);
    const count = Number(length);
    if (holding === undefined || count === 0 || found.length + count > occurrences) return null;
    for (let left = count; left > 0; left -= 1) found.push(holding);
    end += run.length;
  }
  return end === text.length && found.length === occurrences ? found : null;
}

export function digestText(digest: Uint8Array): string {
  return encodeHex(digest);
}
