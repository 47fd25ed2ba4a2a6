import { MalformedError } from './errors.ts';
import { type HexSimd, loadHexSimd } from './hex-simd.ts';
import { decodeByTable, encodeByTable, firstNonHex, shortText } from './hex-table.ts';

/**
 * Shortest text in characters for which SIMD repays the copies into its memory (measured: they break even below 100).
 */
const SIMD_FROM_CHARS = 96;

let simd: HexSimd | null | undefined;

function fast(chars: number): HexSimd | null {
  if (chars < SIMD_FROM_CHARS) return null;
  simd ??= loadHexSimd();
  return simd;
}

/**
 * Decodes hex of either case without a prefix. The text may be ASCII bytes.
 * @throws MalformedError `malformed/hex` for an odd length or a character that is no hex digit
 */
export function decodeHex(text: string | Uint8Array): Uint8Array {
  refuseOdd(text);
  const bytes = new Uint8Array(text.length / 2);
  decodeHexInto(text, bytes);
  return bytes;
}

/**
 * Decodes hex into the caller's memory. `target` may be overwritten even when the call throws.
 * @throws MalformedError `malformed/hex`; RangeError when `target` is not exactly half as long as `text`
 */
export function decodeHexInto(text: string | Uint8Array, target: Uint8Array): void {
  refuseOdd(text);
  if (target.length * 2 !== text.length) {
    throw new RangeError(`${text.length} hex characters do not fill ${target.length} bytes.`);
  }
  const done = fast(text.length)?.decodeInto(text, target) ?? 0;
  if (done < 0 || !decodeByTable(text, target, done)) throw notHex(text);
}

/** Encodes bytes as lower-case hex. */
export function encodeHex(bytes: Uint8Array): string {
  if (fast(bytes.length * 2) === null) return shortText(bytes);
  const ascii = new Uint8Array(bytes.length * 2);
  encodeHexInto(bytes, ascii);
  return new TextDecoder('latin1').decode(ascii);
}

/**
 * Encodes bytes as lower-case ASCII hex into the caller's memory.
 * @throws RangeError when `target` is not exactly twice as long as `bytes`
 */
export function encodeHexInto(bytes: Uint8Array, target: Uint8Array): void {
  if (target.length !== bytes.length * 2) {
    throw new RangeError(`${bytes.length} bytes do not fill ${target.length} hex characters.`);
  }
  const done = fast(target.length)?.encodeInto(bytes, target) ?? 0;
  encodeByTable(bytes, target, done);
}

function refuseOdd(text: string | Uint8Array): void {
  if (text.length % 2 === 0) return;
  throw new MalformedError(
    'malformed/hex',
    `Hex comes in pairs of characters; these are ${text.length}, an odd number.`,
    {
      details: { length: text.length },
      retryable: false,
      hint: 'Give two characters of 0-9 and a-f for each byte.',
    },
  );
}

function notHex(text: string | Uint8Array): MalformedError {
  const position = firstNonHex(text);
  const found = typeof text === 'string' ? text.charAt(position) : String.fromCharCode(text[position] ?? 0);
  return new MalformedError(
    'malformed/hex',
    `Character ${position + 1} of ${text.length} is ${JSON.stringify(found)}, which is no hex digit.`,
    { details: { position, length: text.length }, retryable: false, hint: 'Use 0-9 and a-f only, without a prefix.' },
  );
}
