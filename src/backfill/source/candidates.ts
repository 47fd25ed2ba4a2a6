import { decodeHex } from '../../core/blob/hex.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';

/** A 0x in front and white space behind, as hands and tools leave them. */
const HEX_SLACK_CHARS = 16;
/** The longest body that can be right: hex text of the largest blob. More is never read. */
export const BODY_LIMIT_BYTES = 2 * MAX_BLOB_BYTES + HEX_SLACK_CHARS;

/**
 * What a body can mean: the bytes as they are, or hex text of them. What reads as hex is taken for it first, for most
 * peers serve that; a blob that is itself hex text is found by its hash all the same.
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
    // Not hex is an answer too: then it is the bytes.
    return null;
  }
}
