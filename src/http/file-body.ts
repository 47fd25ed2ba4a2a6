import { Readable } from 'node:stream';
import type { ProvenBytes } from '../archive/archive-view.ts';
import { encodeHexInto } from '../blob/hex.ts';
import type { AnswerParts } from './answer.ts';
import { HELD_BYTES, partBegun, partBytes, partEnded } from './part-size.ts';

export interface FileSpan {
  readonly first: number;
  readonly lengthBytes: number;
  /** As text: twice as many characters. */
  readonly asHex: boolean;
}

/** Reads a proven file while its reader takes it. What changes meanwhile ends the answer short, and says so by that. */
export function fileBody(file: ProvenBytes, { first, lengthBytes, asHex }: FileSpan): AnswerParts {
  return {
    lengthBytes: asHex ? 2 * lengthBytes : lengthBytes,
    heldBytes: HELD_BYTES,
    drop: () => file.close(),
    stream() {
      let at = first;
      const end = first + lengthBytes;
      partBegun();
      return new Readable({
        highWaterMark: 1,
        read() {
          if (at >= end) {
            this.push(null);
            return;
          }
          // Its text, twice as long, is what waits for the reader.
          const most = asHex ? partBytes() / 2 : partBytes();
          const part = Buffer.allocUnsafeSlow(Math.min(most, end - at));
          file.read(part, at).then(
            () => {
              at += part.length;
              this.push(asHex ? hexOf(part) : part);
            },
            (error: Error) => this.destroy(error),
          );
        },
        destroy(error, done) {
          partEnded();
          file.close();
          done(error);
        },
      });
    },
  };
}

function hexOf(bytes: Uint8Array): Buffer {
  const text = Buffer.allocUnsafeSlow(bytes.length * 2);
  encodeHexInto(bytes, text);
  return text;
}
