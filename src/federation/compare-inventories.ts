import type { Holding } from '../verify/inventory.ts';
import { parseHoldingRuns } from '../verify/inventory.ts';
import type { InventoryPart } from '../view/inventory-view.ts';
import { MAX_LISTED } from './inventory-of-range.ts';

/** The answer of one archive about a range. */
export interface ComparedInventory extends InventoryPart {
  readonly parts: readonly InventoryPart[] | null;
  readonly held: string | null;
}

export type AskInventory = (from: number, to: number) => Promise<ComparedInventory>;

/** Occurrences of a range, in the order of the chain, of which the two archives do not hold the same. */
export interface DifferentRange {
  readonly from: number;
  readonly to: number;
  readonly ours: readonly Holding[];
  readonly theirs: readonly Holding[];
}

/** The other archive does not have the same occurrences there, or contradicts itself. */
export interface Contradiction {
  readonly from: number;
  readonly to: number;
  readonly says: string;
}

export type InventoryDifference =
  | ({ readonly kind: 'different' } & DifferentRange)
  | ({ readonly kind: 'contradiction' } & Contradiction);

/**
 * Walks down, where the digests differ, to ranges of few occurrences. Our own side decides how a range is parted: an
 * archive that does not part it so contradicts us.
 */
export async function* compareInventories(
  range: { readonly from: number; readonly to: number },
  ours: AskInventory,
  theirs: AskInventory,
): AsyncGenerator<InventoryDifference> {
  const [own, other] = await Promise.all([ours(range.from, range.to), theirs(range.from, range.to)]);
  if (own.digest === other.digest) return;
  if (own.held !== null) {
    yield ofListed(own, other);
    return;
  }
  const contradiction = (says: string) => ({ kind: 'contradiction' as const, from: own.from, to: own.to, says });
  if (other.parts === null || own.parts === null) {
    yield contradiction('It has another number of occurrences there.');
    return;
  }
  const unknown = new Map(other.parts.map((part) => [part.from, part]));
  const asking: AskedRange[] = [];
  let isSame = true;
  for (const part of own.parts) {
    const same = unknown.get(part.from);
    unknown.delete(part.from);
    const last = asking.at(-1);
    if (same?.digest === part.digest) {
      if (last !== undefined) last.total += totalOf(part);
      continue;
    }
    isSame = false;
    if (same === undefined || same.to !== part.to || totalOf(same) !== totalOf(part)) {
      yield { ...contradiction('It has another number of occurrences there.'), from: part.from, to: part.to };
      // No range that is asked for reaches over it.
      if (last !== undefined) last.isClosed = true;
    } else if (last !== undefined && !last.isClosed && last.total + totalOf(part) <= MAX_LISTED) {
      last.total += totalOf(part);
      last.to = part.to;
    } else asking.push({ from: part.from, to: part.to, total: totalOf(part), isClosed: false });
  }
  for (const { from, to } of asking) yield* compareInventories({ from, to }, ours, theirs);
  if (unknown.size > 0) yield contradiction('It has occurrences where the chain has none.');
  else if (isSame) yield contradiction('Its digest does not follow from its parts.');
}

/** Different parts that are asked for in one question, because both archives list so few occurrences one by one. */
interface AskedRange {
  readonly from: number;
  to: number;
  /** Occurrences from here up to the part that was looked at last. */
  total: number;
  isClosed: boolean;
}

function ofListed(own: ComparedInventory, other: ComparedInventory): InventoryDifference {
  const { from, to } = own;
  const total = totalOf(own);
  const ours = parseHoldingRuns(own.held ?? '', total);
  const theirs = parseHoldingRuns(other.held ?? '', total);
  if (ours === null || theirs === null || own.held === other.held)
    return { kind: 'contradiction', from, to, says: 'It has other occurrences there.' };
  return { kind: 'different', from, to, ours, theirs };
}

function totalOf({ counts }: InventoryPart): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
