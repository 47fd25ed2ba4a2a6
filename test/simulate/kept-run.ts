import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Tally } from './tally.ts';

const kept = z.object({ of: z.string(), next: z.number().int(), tally: z.unknown() });

/** Keeps in a file the counts of one share of a long run. A run that was cut short goes on behind the seed that ended last. */
export class KeptRun {
  readonly #file: string;
  readonly #of: string;

  /** The choice of seeds has to be the same when a run goes on. */
  constructor(file: string, choice: string) {
    this.#file = file;
    this.#of = choice;
  }

  /** Adds to the counts what was kept of them, and gives the seed to go on with: `first` where there is nothing. */
  restore(tally: Tally, first: number): number {
    if (!existsSync(this.#file)) return first;
    const { of, next, tally: told } = kept.parse(JSON.parse(readFileSync(this.#file, 'utf8')));
    if (of !== this.#of) throw new Error(`${this.#file} is of another run: ${of}. Name another file.`);
    tally.merge(told);
    return next;
  }

  save(tally: Tally, next: number): void {
    const aside = `${this.#file}.new`;
    writeFileSync(aside, JSON.stringify({ of: this.#of, next, tally: tally.told }));
    renameSync(aside, this.#file);
  }
}
