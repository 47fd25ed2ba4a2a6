import { Readable } from 'node:stream';
import type { Pace } from './pace.ts';

/** The parts of an answer as its reader takes them, one at a time: the next is made when the one before is with the system. */
export function partsStream(
  pace: Pace,
  next: (isOver: () => boolean) => Promise<Buffer | null>,
  end: () => void = () => undefined,
): Readable {
  return new Readable({
    // None is read ahead: a reader that stops holds one.
    highWaterMark: 0,
    read() {
      next(() => this.destroyed).then(
        (part) => {
          pace.sent();
          this.push(part);
        },
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      end();
      done(error);
    },
  });
}
