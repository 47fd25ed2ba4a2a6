import { Readable } from 'node:stream';
import { encodeHexInto } from '../core/blob/hex.ts';
import type { ProvenFile } from '../view/archive-view.ts';
import type { AnswerParts } from './answer.ts';
import { heldInParts } from './part-size.ts';

export interface FileSpan {
  readonly first: number;
  readonly lengthBytes: number;
  /** How much of the answer waits for its reader at a time. */
  readonly partBytes: number;
  /** As text: twice as many characters. */
  readonly asHex: boolean;
}

/** Reads a proven file while its reader takes it. What changes meanwhile ends the answer short, and says so by that. */
export function fileBody(file: ProvenFile, { first, lengthBytes, partBytes, asHex }: FileSpan): AnswerParts {
  const end = first + lengthBytes;
  let at = first;
  let begun: Buffer | null = null;
  /** Hex text is twice as long, and is what waits for the reader. */
  const readPart = async (): Promise<Buffer> => {
    const part = Buffer.allocUnsafeSlow(Math.min(asHex ? partBytes / 2 : partBytes, end - at));
    await file.read(part, at);
    at += part.length;
    return asHex ? hexOf(part) : part;
  };
  return {
    lengthBytes: asHex ? 2 * lengthBytes : lengthBytes,
    heldBytes: heldInParts(partBytes),
    drop: () => file.close(),
    async begin() {
      try {
        begun = await readPart();
      } catch (error) {
        file.close();
        throw error;
      }
    },
    stream(takeTurn) {
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
            takeTurn(() => {
              // Its file is closed.
              if (this.destroyed) return;
              readPart().then(
                (part) => this.push(part),
                (error: Error) => this.destroy(error),
              );
            });
          }
        },
        destroy(error, done) {
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
