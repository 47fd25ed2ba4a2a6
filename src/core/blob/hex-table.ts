/** Hex by table, for short texts, for tails, and without SIMD. */

const NOT_HEX = 0xff;
const DIGITS = '0123456789abcdef';
const VALUES = new Uint8Array(256).fill(NOT_HEX);
for (let value = 0; value < 16; value += 1) {
  VALUES[DIGITS.charCodeAt(value)] = value;
  VALUES[DIGITS.toUpperCase().charCodeAt(value)] = value;
}

/** Two lower-case characters for each byte. */
const PAIRS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Value 0 to 15 of a hex digit; 255 for any other character. */
function valueAt(text: string | Uint8Array, index: number): number {
  const char = typeof text === 'string' ? text.charCodeAt(index) : text[index];
  return char === undefined ? NOT_HEX : (VALUES[char] ?? NOT_HEX);
}

/** Decodes from the even index `from` on. Returns false for a character that is no hex digit. */
export function decodeByTable(text: string | Uint8Array, target: Uint8Array, from: number): boolean {
  let seen = 0;
  for (let at = from; at < text.length; at += 2) {
    const high = valueAt(text, at);
    const low = valueAt(text, at + 1);
    seen |= high | low;
    target[at >>> 1] = (high << 4) | low;
  }
  return seen < 16;
}

/** Encodes from byte `from` on, as ASCII. */
export function encodeByTable(bytes: Uint8Array, target: Uint8Array, from: number): void {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    target[at * 2] = DIGITS.charCodeAt(byte >>> 4);
    target[at * 2 + 1] = DIGITS.charCodeAt(byte & 15);
  }
}

export function shortText(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += PAIRS[byte];
  return text;
}

/** Index of the first character that is no hex digit; -1 when there is none. */
export function firstNonHex(text: string | Uint8Array): number {
  for (let at = 0; at < text.length; at += 1) {
    if (valueAt(text, at) === NOT_HEX) return at;
  }
  return -1;
}
