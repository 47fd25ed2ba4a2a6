import { decodeHex } from '../../core/blob/hex.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';

/** A 0x in front and white space behind, as hands and tools leave them. */
const HEX_SLACK_CHARS = 16;
/** The longest body that can be right: hex text of the largest blob. More is never read. */
export const BODY_LIMIT_BYTES = 2 * MAX_BLOB_BYTES + HEX_SLACK_CHARS;

/**
 * Possible meanings of a body: hex text first, since most peers serve that, then the bytes themselves. The hash finds a
 * blob that is itself hex text all the same.
 */
export function candidatesOf(body: Uint8Array): readonly Uint8Array[] {
  const decoded = hexIn(body);
  if (decoded === null) return [body];
  if (body.length <= MAX_BLOB_BYTES) return [decoded, body];
  // Longer than any blob: as bytes it can be nothing. Waiting for the garbage collector would keep 4 MiB a question.
  if (body.buffer instanceof ArrayBuffer && body.buffer.byteLength === body.byteLength) body.buffer.transfer(0);
  return [decoded];
}

const ZERO = 0x30;
const X = 0x78;
const SPACE = 0x20;

function hexIn(body: Uint8Array): Uint8Array | null {
  let end = body.length;
  while (end > 0 && (body[end - 1] ?? 0) <= SPACE) end -= 1;
  const start = body[0] === ZERO && ((body[1] ?? 0) | SPACE) === X ? 2 : 0;
  if (end <= start || (end - start) % 2 !== 0) return null;
  try {
    return decodeHex(body.subarray(start, end));
  } catch {
    // The body is not hex, so it can only be the bytes themselves.
    return null;
  }
}
