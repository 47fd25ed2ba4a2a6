import { onTestFinished } from 'vitest';

type Cleanup = () => Promise<unknown> | unknown;

/** Takes what is to be done when something is needed no more. */
export type AtEnd = (cleanup: Cleanup) => void;

/** At the end of the test that is running. */
export const atEndOfTest: AtEnd = (cleanup) =>
  onTestFinished(async () => {
    await cleanup();
  });

/** For what several tests share: `beforeAll` gives back `close`. Last come, first cleaned up. */
export class SharedByTests {
  readonly #cleanups: Cleanup[] = [];

  readonly atEnd: AtEnd = (cleanup) => {
    this.#cleanups.push(cleanup);
  };

  readonly close = async (): Promise<void> => {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  };
}
