/** A first look at bytes without a type. */
export interface Preview {
  /** Shannon entropy in bits per byte, 0 to 8. Compressed and encrypted bytes have nearly 8. */
  readonly entropyBits: number;
  /** Lines of offset, hex and printable ASCII, from the start. */
  readonly hex: string;
  /** The first characters; null when the bytes are not UTF-8 text. */
  readonly text: string | null;
  /** The bytes go on after what is shown. */
  readonly isCut: boolean;
}

const HEX_BYTES = 256;
const LINE_BYTES = 16;
const TEXT_BYTES = 1_024;
/** Invisible characters, and characters that change the direction of the text. Tabs and line breaks stay. */
const UNSEEN = /(?![\t\n\r])[\p{Cc}\p{Bidi_C}\u2028\u2029]/gu;
/** A cut may divide the last character, which has four bytes at most. */
const CUT_CHARACTER_BYTES = 3;

export function previewOf(bytes: Uint8Array): Preview {
  return {
    entropyBits: entropyOf(bytes),
    hex: hexLines(bytes.subarray(0, HEX_BYTES)),
    text: textOf(bytes),
    isCut: bytes.length > HEX_BYTES,
  };
}

function entropyOf(bytes: Uint8Array): number {
  const counts = new Float64Array(256);
  for (const byte of bytes) counts[byte] = (counts[byte] ?? 0) + 1;
  let bits = 0;
  for (const count of counts) {
    if (count > 0) bits -= (count / bytes.length) * Math.log2(count / bytes.length);
  }
  return bits;
}

function hexLines(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    const line = [...bytes.subarray(at, at + LINE_BYTES)];
    const hex = line.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = line.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(4, '0')}  ${hex.padEnd(LINE_BYTES * 3 - 1)}  ${ascii}`);
  }
  return lines.join('\n');
}

function textOf(bytes: Uint8Array): string | null {
  const start = bytes.subarray(0, TEXT_BYTES);
  const isCut = bytes.length > TEXT_BYTES;
  for (let left = 0; left <= (isCut ? CUT_CHARACTER_BYTES : 0); left += 1) {
    const text = decoded(start.subarray(0, start.length - left));
    if (text !== null) return text === '' || text.includes('\0') ? null : text.replace(UNSEEN, '\uFFFD');
  }
  return null;
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
