import type { ContentEntry, StoredState } from './content-table.ts';

export interface CatalogTotals {
  readonly seen: number;
  readonly spooled: number;
  readonly stored: number;
  readonly storedBytes: number;
}

/** A stored content fell back; the caller reports it. */
export type AfterDamage = 'other-copies-left' | 'to-be-fetched-again';

interface Total {
  readonly count: number;
  readonly bytes: number;
}

/** Number of contents in each state, and their bytes: kept beside the table, for counting would read all of it. */
export class StateTotals {
  #totals: Readonly<Record<StoredState, Total>>;

  constructor(rows: readonly ({ readonly state: StoredState } & Total)[]) {
    const of = (state: StoredState): Total => rows.find((row) => row.state === state) ?? { count: 0, bytes: 0 };
    this.#totals = { seen: of('seen'), spooled: of('spooled'), stored: of('stored') };
  }

  of(state: StoredState): Total {
    return this.#totals[state];
  }

  enter(state: StoredState, sizeBytes: number): void {
    this.#add(state, 1, sizeBytes);
  }

  leave({ state, sizeBytes }: Pick<ContentEntry, 'state' | 'sizeBytes'>): void {
    this.#add(state, -1, -sizeBytes);
  }

  /** Leaves a state without bytes: `seen` never counted them. */
  leaveUncounted(state: StoredState): void {
    this.#add(state, -1, 0);
  }

  /** Gives what puts them back to what they are now: for a transaction that is rolled back. */
  remember(): () => void {
    const before = this.#totals;
    return () => {
      this.#totals = before;
    };
  }

  #add(state: StoredState, count: number, bytes: number): void {
    const total = this.#totals[state];
    this.#totals = { ...this.#totals, [state]: { count: total.count + count, bytes: total.bytes + bytes } };
  }
}
