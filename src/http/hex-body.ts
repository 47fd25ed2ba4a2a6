import { encodeHexInto } from '../core/blob/hex.ts';
import type { AnswerParts } from './answer.ts';
import { type Pace, SMALL_PART_BYTES } from './pace.ts';
import { PartsStream } from './parts-stream.ts';

/** Text, or bytes that are sent as hex; `isLent`: the archive keeps them in memory in any case. */
export type HexPart = string | { readonly hexOf: Uint8Array; readonly isLent?: boolean };

/** Becomes text only piece by piece, while its reader takes it: a slow reader holds the bytes and a piece, and not all their hex. */
export function hexBody(parts: readonly HexPart[]): AnswerParts {
  const lengthBytes = sum(parts, ({ hexOf }) => hexOf.length * 2);
  const ownBytes = sum(parts, ({ hexOf, isLent }) => (isLent === true ? 0 : hexOf.length));
  return {
    lengthBytes,
    heldBytes: Math.max(ownBytes, Math.min(SMALL_PART_BYTES, lengthBytes)),
    begin: async () => undefined,
    stream(pace) {
      const left = [...parts];
      return new PartsStream(pace, (isOver) => nextPiece(left, pace, isOver));
    },
    drop: () => undefined,
  };
}

function sum(parts: readonly HexPart[], sizeOf: (part: Exclude<HexPart, string>) => number): number {
  return parts.reduce((total, part) => total + (typeof part === 'string' ? Buffer.byteLength(part) : sizeOf(part)), 0);
}

/** null: that was all. What it gives is no longer in `left`. */
async function nextPiece(left: HexPart[], pace: Pace, isOver: () => boolean): Promise<Buffer | null> {
  const part = left.shift();
  if (part === undefined) return null;
  if (typeof part === 'string') {
    await pace.turn(part.length);
    return Buffer.from(part);
  }
  const pieceBytes = Math.ceil((await pace.part(part.hexOf.length * 2)) / 2);
  if (isOver()) return null;
  const piece = part.hexOf.subarray(0, pieceBytes);
  const rest = part.hexOf.subarray(pieceBytes);
  if (rest.length > 0) left.unshift({ hexOf: rest });
  const text = pace.memory.take(piece.length * 2);
  encodeHexInto(piece, text);
  return text;
}
