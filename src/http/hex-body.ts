import { Readable } from 'node:stream';
import { encodeHexInto } from '../core/blob/hex.ts';
import type { AnswerParts } from './answer.ts';

/** Text, or bytes that are sent as hex. */
export type HexPart = string | { readonly hexOf: Uint8Array };

const PIECE_BYTES = 131_072;

/** Becomes text only piece by piece, while its reader takes it: a slow reader holds the bytes, and not their hex. */
export function hexBody(parts: readonly HexPart[]): AnswerParts {
  return {
    lengthBytes: sum(parts, ({ length }) => length * 2),
    heldBytes: sum(parts, ({ length }) => length),
    begin: async () => undefined,
    stream(takeTurn) {
      const pieces = piecesOf(parts);
      return new Readable({
        highWaterMark: 1,
        read() {
          takeTurn(() => {
            if (!this.destroyed) this.push(pieces.next().value ?? null);
          });
        },
      });
    },
    drop: () => undefined,
  };
}

function sum(parts: readonly HexPart[], sizeOf: (bytes: Uint8Array) => number): number {
  return parts.reduce(
    (total, part) => total + (typeof part === 'string' ? Buffer.byteLength(part) : sizeOf(part.hexOf)),
    0,
  );
}

function* piecesOf(parts: readonly HexPart[]): Generator<Buffer> {
  for (const part of parts) {
    if (typeof part === 'string') {
      yield Buffer.from(part);
      continue;
    }
    for (let at = 0; at < part.hexOf.length; at += PIECE_BYTES) {
      const piece = part.hexOf.subarray(at, at + PIECE_BYTES);
      const text = Buffer.allocUnsafeSlow(piece.length * 2);
      encodeHexInto(piece, text);
      yield text;
    }
  }
}
