/** JSON whose numbers keep every digit: guids have 20, amounts 8 decimals, and a double has 15 to 17 in all. */

// The ES declarations do not have the source text of numbers yet (Node has had both since release 22).
// biome-ignore lint/suspicious/noShadowRestrictedNames: it is the global JSON, declared with what it really has.
declare const JSON: {
  parse(
    text: string,
    reviver?: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  stringify(value: unknown): string;
  rawJSON(text: string): object;
};

/** A number as it was written, where a JavaScript number would not give the same text back. */
export class JsonNumber {
  /** As in the JSON text: digits, sign, point, exponent. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  /** So that what was read can be written again, digit for digit. */
  toJSON(): object {
    return rawNumber(this.source);
  }
}

/**
 * A number that a double may not hold: with point or exponent, of sixteen digits or more, or minus zero. Strings can look
 * like it as well; that only costs time.
 */
const DELICATE = /(?:^|[:,[\s])(?:-0|-?\d+[.eE]|-?\d{16})/;
/** A text that is longer is not searched for them first: it is mostly one hex string, and has few numbers to look at. */
const SEARCHED_CHARS = 65_536;

/**
 * Whole numbers that are exact become `number`, all others `JsonNumber`.
 * @throws SyntaxError
 */
export function parseLossless(text: string): unknown {
  if (text.length <= SEARCHED_CHARS && !DELICATE.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined) return value;
    return Number.isSafeInteger(value) && String(value) === source ? value : new JsonNumber(source);
  });
}

/** What `writeLossless` puts down as a number with exactly these digits. */
export function rawNumber(source: string): object {
  return JSON.rawJSON(source);
}

/** Takes `rawNumber` values and `JsonNumber` anywhere. */
export function writeLossless(value: unknown): string {
  return JSON.stringify(value);
}
