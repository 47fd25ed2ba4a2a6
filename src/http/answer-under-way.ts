import type { ServerResponse } from 'node:http';
import type { Sending } from '../view/archive-view.ts';
import type { BudgetShare } from './answer-budget.ts';

/** An answer as those see it who lend it what they have: it begins, and is sent, or ends short. */
export class AnswerUnderWay implements Sending {
  readonly #response: ServerResponse;
  readonly #share: BudgetShare | null;
  readonly #whenBegun: (() => void)[] = [];
  readonly #whenSent: (() => void)[] = [];

  /** null: its route stands outside of the memory for answers. */
  constructor(response: ServerResponse, share: BudgetShare | null) {
    this.#response = response;
    this.#share = share;
  }

  whenBegun(begun: () => void): void {
    this.#whenBegun.push(begun);
  }

  whenSent(done: () => void): void {
    if (this.#response.destroyed) {
      done();
    } else if (this.#whenSent.push(done) === 1) {
      this.#response.once('close', () => {
        for (const each of this.#whenSent) each();
      });
    }
  }

  /** The answer is prepared, and goes out from now on. */
  begin(): void {
    for (const begun of this.#whenBegun) begun();
    this.#share?.sending(() => void this.#response.destroy());
  }

  cut(): void {
    if (this.#response.destroyed) return;
    this.#share?.countCut();
    // The reader has less than was announced, and knows it.
    this.#response.destroy();
  }
}
