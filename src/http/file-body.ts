import { Readable } from 'node:stream';
import type { ProvenBytes } from '../archive/archive-view.ts';
import { encodeHexInto } from '../blob/hex.ts';
import type { AnswerParts } from './answer.ts';

/** Parts of files under way to readers, all clients together: the more of them, the smaller each. */
let underWay = 0;
const FEW = 16;
const MANY = 96;
const LARGE_PART_BYTES = 524_288;
const PART_BYTES = 131_072;
const SMALL_PART_BYTES = 32_768;

/** What one answer holds in memory when there are many: a part with its reader, and the next one. */
const HELD_BYTES = 2 * SMALL_PART_BYTES;

function partBytes(): number {
  if (underWay <= FEW) return LARGE_PART_BYTES;
  return underWay <= MANY ? PART_BYTES : SMALL_PART_BYTES;
}

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
    heldBytes: asHex ? 2 * HELD_BYTES : HELD_BYTES,
    drop: () => file.close(),
    stream() {
      let at = first;
      const end = first + lengthBytes;
      underWay += 1;
      return new Readable({
        highWaterMark: 1,
        read() {
          if (at >= end) {
            this.push(null);
            return;
          }
          const part = Buffer.allocUnsafeSlow(Math.min(partBytes(), end - at));
          file.read(part, at).then(
            () => {
              at += part.length;
              this.push(asHex ? hexOf(part) : part);
            },
            (error: Error) => this.destroy(error),
          );
        },
        destroy(error, done) {
          underWay -= 1;
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
