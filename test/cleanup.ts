import { afterAll, beforeAll, onTestFinished } from 'vitest';

type Cleanup = () => Promise<unknown> | unknown;

/** Takes what is to be done when something is needed no more. */
export type AtEnd = (cleanup: Cleanup) => void;

/** At the end of the test that is running. */
export const atEndOfTest: AtEnd = (cleanup) =>
  onTestFinished(async () => {
    await cleanup();
  });

/** For what several tests share. Last come, first cleaned up. */
export class SharedByTests {
  readonly #cleanups: Cleanup[] = [];

  readonly atEnd: AtEnd = (cleanup) => {
    this.#cleanups.push(cleanup);
  };

  readonly close = async (): Promise<void> => {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  };
}

/** `beforeAll` for what is cleaned up after all, also where setting it up failed half-way: then nothing is left running. */
export function beforeAllSharing(setUp: (atEnd: AtEnd) => Promise<void>, timeoutMs?: number): void {
  const { atEnd, close } = new SharedByTests();
  beforeAll(() => setUp(atEnd), timeoutMs);
  afterAll(close, timeoutMs);
}
