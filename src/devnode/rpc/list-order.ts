/** Below this length the sort is an insertion sort, which is stable. */
const INSERTION_LENGTH = 16;

/**
 * `std::sort` of libstdc++, step by step (`bits/stl_algo.h`: median of three, unguarded partition, final insertion
 * sort). Release 5 sorts a page by time with it. The sort is unstable, which explains the order of the recorded lists.
 * The fallback to heap sort after 2·log2(n) levels is left out: only adversarial input reaches it.
 */
export function sortUnstably<T>(items: T[], less: (a: T, b: T) => boolean): T[] {
  const sorter = new Introsort(items, less);
  sorter.run();
  return items;
}

class Introsort<T> {
  readonly #items: T[];
  readonly #less: (a: T, b: T) => boolean;

  constructor(items: T[], less: (a: T, b: T) => boolean) {
    this.#items = items;
    this.#less = less;
  }

  run(): void {
    const length = this.#items.length;
    this.#narrow(0, length);
    this.#insertAll(0, Math.min(length, INSERTION_LENGTH));
    for (let index = INSERTION_LENGTH; index < length; index++) this.#insertUnguarded(index);
  }

  #narrow(first: number, end: number): void {
    let last = end;
    while (last - first > INSERTION_LENGTH) {
      this.#medianToFront(first, first + 1, first + ((last - first) >> 1), last - 1);
      const cut = this.#partition(first + 1, last, first);
      this.#narrow(cut, last);
      last = cut;
    }
  }

  #medianToFront(front: number, a: number, b: number, c: number): void {
    if (this.#isLess(a, b)) {
      if (this.#isLess(b, c)) this.#swap(front, b);
      else this.#swap(front, this.#isLess(a, c) ? c : a);
    } else if (this.#isLess(a, c)) this.#swap(front, a);
    else this.#swap(front, this.#isLess(b, c) ? c : b);
  }

  #partition(from: number, to: number, pivot: number): number {
    let low = from;
    let high = to;
    for (;;) {
      while (this.#isLess(low, pivot)) low += 1;
      high -= 1;
      while (this.#isLess(pivot, high)) high -= 1;
      if (low >= high) return low;
      this.#swap(low, high);
      low += 1;
    }
  }

  #insertAll(first: number, last: number): void {
    for (let index = first + 1; index < last; index++) {
      if (this.#isLess(index, first)) {
        const [moved] = this.#items.splice(index, 1);
        if (moved !== undefined) this.#items.splice(first, 0, moved);
      } else this.#insertUnguarded(index);
    }
  }

  #insertUnguarded(index: number): void {
    for (let at = index; at > 0 && this.#isLess(at, at - 1); at--) this.#swap(at, at - 1);
  }

  #isLess(a: number, b: number): boolean {
    const left = this.#items[a];
    const right = this.#items[b];
    return left !== undefined && right !== undefined && this.#less(left, right);
  }

  #swap(a: number, b: number): void {
    const left = this.#items[a];
    const right = this.#items[b];
    if (left === undefined || right === undefined) return;
    this.#items[a] = right;
    this.#items[b] = left;
  }
}
