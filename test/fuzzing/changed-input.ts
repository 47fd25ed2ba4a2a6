import type { SeededRandom } from '../simulate/random.ts';

/** Texts at the edges of numbers, JSON, XML, HTTP and paths. */
const WORDS = [
  ...['0', '-1', '1e400', '9007199254740993', '-0', '4294967296', '00', 'NaN'],
  ...['null', 'true', '[]', '{}', '""', '[[', '{"a":', '\\u0000', '\\ud800', '"', ',', ':', '__proto__'],
  ...['\r\n', '\r\n\r\n', '\n', '\0', '\t', ' ', '\u00ff', '%00', '%2e%2e/', '../', ';', '='],
  ...['<', '</', '/>', '&amp;', '&#0;', '<!--', '<![CDATA[', ']]>', '<!DOCTYPE a>'],
].map((word) => Buffer.from(word));
const MAX_BYTES = 16_384;
const DIGITS = /\d+/g;

/** An input with a few changes of all kinds. `others` lend parts of themselves, `words` are those of its language. */
export function changedInput(
  input: Uint8Array,
  others: readonly Uint8Array[],
  words: readonly Uint8Array[],
  random: SeededRandom,
): Uint8Array {
  let bytes = Buffer.from(input);
  const changes = random.between(1, random.chance(0.2) ? 8 : 3);
  for (let change = 0; change < changes; change += 1) bytes = changed(bytes, others, words, random);
  return bytes.subarray(0, MAX_BYTES);
}

function changed(
  bytes: Buffer,
  others: readonly Uint8Array[],
  words: readonly Uint8Array[],
  random: SeededRandom,
): Buffer<ArrayBuffer> {
  const at = random.between(0, bytes.length);
  const end = Math.min(bytes.length, at + random.between(1, random.chance(0.3) ? 400 : 8));
  const [before, inside, behind] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (random.between(0, 10)) {
    case 0:
    case 1: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random.between(0, 7));
      return flipped;
    }
    case 2:
      return Buffer.concat([before, random.bytes(inside.length), behind]);
    case 3:
      return Buffer.concat([before, behind]);
    case 4:
      return Buffer.concat([before, random.bytes(random.between(1, 24)), inside, behind]);
    case 5:
      return Buffer.concat([before, inside, inside, behind]);
    case 6:
      return Buffer.concat([before, behind.subarray(random.between(0, behind.length))]);
    case 7: {
      const other = random.pick(others);
      const from = random.between(0, other.length);
      const lent = other.subarray(from, random.between(from, other.length));
      return Buffer.concat([before, lent, random.chance(0.5) ? behind : Buffer.concat([inside, behind])]);
    }
    case 8:
      return withOtherNumber(bytes, random);
    default: {
      const word = random.pick(words.length > 0 && random.chance(0.6) ? words : WORDS);
      return Buffer.concat([before, word, random.chance(0.5) ? behind : Buffer.concat([inside, behind])]);
    }
  }
}

function withOtherNumber(bytes: Buffer, random: SeededRandom): Buffer<ArrayBuffer> {
  const text = bytes.toString('latin1');
  const numbers = [...text.matchAll(DIGITS)];
  if (numbers.length === 0) return Buffer.from(bytes);
  const { 0: digits, index } = random.pick(numbers);
  const value = Number(digits);
  const other = random.pick([value + 1, value - 1, value * 2, -value, 0, 2 ** 31, 2 ** 53, Math.floor(value / 2)]);
  return Buffer.from(`${text.slice(0, index)}${other}${text.slice(index + digits.length)}`, 'latin1');
}
