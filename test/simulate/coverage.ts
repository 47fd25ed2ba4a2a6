import { FAULTS, type FaultKind } from './plan.ts';

/** An event that came while another one went on, or soon after it. */
export type Pair = readonly [before: FaultKind, then: FaultKind];

const LEAST_SHOWN = 10;
const NEVER_SHOWN = 8;

/** The number of times that each ordered pair of kinds met, in as much memory as there are pairs. */
export class Coverage {
  readonly #kinds: readonly FaultKind[] = FAULTS;
  readonly #met = new Uint32Array(FAULTS.length ** 2);

  add(pairs: readonly Pair[]): void {
    for (const [before, then] of pairs) {
      const [row, column] = [this.#kinds.indexOf(before), this.#kinds.indexOf(then)];
      if (row < 0 || column < 0) continue;
      const at = row * this.#kinds.length + column;
      this.#met[at] = (this.#met[at] ?? 0) + 1;
    }
  }

  /** The times of all pairs, in the order of the kinds. */
  get counts(): number[] {
    return [...this.#met];
  }

  /** Adds the times that another process counted. */
  addCounts(counts: readonly number[]): void {
    for (const [at, times] of counts.entries()) this.#met[at] = (this.#met[at] ?? 0) + times;
  }

  /** A few lines for the end of a run, however many seeds it had. */
  get lines(): string[] {
    const all = this.#kinds.flatMap((before) => this.#kinds.map((then) => ({ before, then })));
    const counted = all.map((pair, at) => ({ ...pair, times: this.#met[at] ?? 0 }));
    const met = counted.filter(({ times }) => times > 0);
    const least = [...met].sort((a, b) => a.times - b.times).slice(0, LEAST_SHOWN);
    const median = met.map(({ times }) => times).sort((a, b) => a - b)[Math.floor(met.length / 2)] ?? 0;
    return [
      `pairs of events: ${met.length} of ${all.length} met, half of these ${median} times or more`,
      ...(least.length === 0
        ? []
        : [`  seldom: ${least.map(({ before, then, times }) => `${before} > ${then} ${times}`).join(', ')}`]),
      // A short run would list little else than pairs that did not meet.
      ...(met.length * 2 < all.length ? [] : this.#neverLines()),
    ];
  }

  /** The kinds that lack the most, each with those that never came after it. */
  #neverLines(): string[] {
    const size = this.#kinds.length;
    const lacking = this.#kinds
      .map((before, row) => ({
        before,
        never: this.#kinds.filter((_, column) => this.#met[row * size + column] === 0),
      }))
      .filter(({ never }) => never.length > 0)
      .sort((a, b) => b.never.length - a.never.length);
    const lines = lacking.slice(0, NEVER_SHOWN).map(({ before, never }) => {
      const others = never.length - NEVER_SHOWN;
      const rest = others > 0 ? ` and ${others} others` : '';
      return `  never after ${before}: ${never.slice(0, NEVER_SHOWN).join(', ')}${rest}`;
    });
    const others = lacking.length - lines.length;
    return others > 0 ? [...lines, `  and after ${others} other kinds`] : lines;
  }
}
