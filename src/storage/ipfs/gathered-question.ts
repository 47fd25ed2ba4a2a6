interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (cause: unknown) => void;
}

/** Asks about several items in one request; gives an answer for each, in the same order. */
export type AskTogether<Item, Answer> = (items: readonly Item[]) => Promise<readonly Answer[]>;

/**
 * Gathers the next items while a request is under way. A lone item is sent at once, and many concurrent items cost few
 * requests.
 */
export class GatheredQuestion<Item, Answer> {
  readonly #ask: AskTogether<Item, Answer>;
  readonly #limit: number;
  #waiting: Waiting<Item, Answer>[] = [];
  #isAsking = false;

  constructor(ask: AskTogether<Item, Answer>, limit: number) {
    this.#ask = ask;
    this.#limit = limit;
  }

  /** Rejects with the signal's reason when it aborts first; the others of its request go on. */
  async ask(item: Item, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    return await new Promise<Answer>((resolve, reject) => {
      const giveUp = () => reject(signal.reason);
      signal.addEventListener('abort', giveUp, { once: true });
      const over = () => signal.removeEventListener('abort', giveUp);
      this.#waiting.push({
        item,
        resolve: (answer) => {
          over();
          resolve(answer);
        },
        reject: (cause) => {
          over();
          reject(cause);
        },
      });
      if (!this.#isAsking) void this.#askAll();
    });
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#limit);
      try {
        const answers = await this.#ask(group.map(({ item }) => item));
        group.forEach(({ resolve, reject }, index) => {
          const answer = answers[index];
          if (answer === undefined) reject(new RangeError(`${answers.length} answers for ${group.length} questions`));
          else resolve(answer);
        });
      } catch (cause) {
        for (const { reject } of group) reject(cause);
      }
    }
    this.#isAsking = false;
  }
}
