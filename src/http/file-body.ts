import { Readable } from 'node:stream';
import { encodeHexInto } from '../core/blob/hex.ts';
import type { ProvenBytes } from '../view/archive-view.ts';
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
  const end = first + lengthBytes;
  let at = first;
  let begun: Buffer | null = null;
  /** Hex text is twice as long, and is what waits for the reader. */
  const readPart = async (): Promise<Buffer> => {
    const part = Buffer.allocUnsafeSlow(Math.min(asHex ? partBytes() / 2 : partBytes(), end - at));
    await file.read(part, at);
    at += part.length;
    return asHex ? hexOf(part) : part;
  };
  return {
    lengthBytes: asHex ? 2 * lengthBytes : lengthBytes,
    heldBytes: HELD_BYTES,
    drop: () => file.close(),
    async begin() {
      try {
        begun = await readPart();
      } catch (error) {
        file.close();
        throw error;
      }
    },
    stream() {
      partBegun();
      return new Readable({
        highWaterMark: 1,
        read() {
          if (begun !== null) {
            const part = begun;
            begun = null;
            this.push(part);
          } else if (at >= end) {
            this.push(null);
          } else {
            readPart().then(
              (part) => this.push(part),
              (error: Error) => this.destroy(error),
            );
          }
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
