import { Readable } from 'node:stream';
import type { Pace } from './pace.ts';

/** The next part, in memory of the pace; null: that was the last. */
export type NextPart = (isOver: () => boolean) => Promise<Buffer | null>;

/**
 * The parts of an answer as its reader takes them, one at a time: the next is made when the system has taken the one before.
 * Only then is the memory of that one free. A pipe of Node does not tell of that moment, and so it is not used.
 */
export class PartsStream extends Readable {
  readonly #pace: Pace;
  readonly #next: NextPart;
  readonly #end: () => void;

  constructor(pace: Pace, next: NextPart, end: () => void = () => undefined) {
    super();
    this.#pace = pace;
    this.#next = next;
    this.#end = end;
  }

  override pipe<Response extends NodeJS.WritableStream>(response: Response): Response {
    this.#send(response).catch((error: Error) => this.destroy(error));
    return response;
  }

  /** Nothing is read from it: the parts go out by `pipe`. */
  override _read(): void {}

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#end();
    done(error);
  }

  async #send(response: NodeJS.WritableStream): Promise<void> {
    const part = await this.#next(() => this.destroyed);
    if (this.destroyed) return;
    this.#pace.sent();
    if (part === null) {
      response.end();
      this.push(null);
      this.resume();
      return;
    }
    response.write(part, (error) => {
      // The response ends, and this with it. A part that did not go out whole may be with the system still.
      if (error !== null && error !== undefined) return;
      this.#pace.memory.giveBack(part);
      this.#send(response).catch((failure: Error) => this.destroy(failure));
    });
  }
}
