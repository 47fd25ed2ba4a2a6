import { encodeHexInto } from '../../blob/hex.ts';
import type { AnswerBody } from '../answer.ts';

/** JSON text, or bytes that become hex in it: only once, and straight into the memory that goes to the socket. */
export type ReplyPart = string | { readonly hexOf: Uint8Array };

export function replyBody(parts: readonly ReplyPart[]): AnswerBody {
  const lengthBytes = parts.reduce((sum, part) => sum + lengthOf(part), 0);
  return {
    lengthBytes,
    make() {
      const body = Buffer.allocUnsafe(lengthBytes);
      let at = 0;
      for (const part of parts) {
        const end = at + lengthOf(part);
        if (typeof part === 'string') body.write(part, at, 'utf8');
        else encodeHexInto(part.hexOf, body.subarray(at, end));
        at = end;
      }
      return body;
    },
  };
}

function lengthOf(part: ReplyPart): number {
  return typeof part === 'string' ? Buffer.byteLength(part) : part.hexOf.length * 2;
}
