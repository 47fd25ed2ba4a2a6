/** One name: the catalog's entry for a place, and the entry that the place lists. */
export interface Pair<W, L> {
  readonly wanted: W | null;
  readonly listed: L | null;
}

/**
 * Joins the entries that a place is to hold with the entries that it lists, both in the order of names: each name once. Only
 * the entries that either side reads ahead are held. `wanted`: the listing is read no further than to the last of those.
 */
export async function* inStep<W, L>(
  wanted: Iterable<W>,
  listed: AsyncIterable<L>,
  nameOf: (one: W | L) => string,
  asked: 'wanted' | 'all',
): AsyncGenerator<Pair<W, L>> {
  const [left, right] = [wanted[Symbol.iterator](), listed[Symbol.asyncIterator]()];
  const nextLeft = () => valueIn(left.next());
  const nextRight = async () => valueIn(await right.next());
  try {
    let mine = nextLeft();
    let theirs = mine === null && asked === 'wanted' ? null : await nextRight();
    while (mine !== null || (theirs !== null && asked === 'all')) {
      const order = compare(mine === null ? null : nameOf(mine), theirs === null ? null : nameOf(theirs));
      yield { wanted: order <= 0 ? mine : null, listed: order >= 0 ? theirs : null };
      if (order <= 0) mine = nextLeft();
      if (order >= 0) theirs = await nextRight();
    }
  } finally {
    left.return?.();
    await right.return?.();
  }
}

function valueIn<T>(result: IteratorResult<T>): T | null {
  return result.done === true ? null : result.value;
}

/** null: that side has come to its end. */
function compare(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null) return 1;
  return b === null || a < b ? -1 : 1;
}
