import {
  endOfString,
  MAX_JSON_DEPTH,
  MAX_JSON_TOKENS,
  parseBoundedJson,
  tooComplex,
} from '../core/blob/bounded-json.ts';

/** JSON whose numbers keep every digit. Guids have 20 digits, amounts 8 decimals; a double has 15 to 17 digits. */

// The ES declarations lack raw JSON, which Node has had since release 22.
// biome-ignore lint/suspicious/noShadowRestrictedNames: it is the global JSON, declared with what it really has.
declare const JSON: {
  parse(text: string): unknown;
  stringify(value: unknown): string;
  rawJSON(text: string): object;
};

/** A number whose text a JavaScript number would not reproduce. */
export class JsonNumber {
  /** Text in the JSON source: digits, sign, point, exponent. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  /** Writes the number with the same digits. */
  toJSON(): object {
    return rawNumber(this.source);
  }
}

/**
 * Matches a number that a double may not hold: with point or exponent, of sixteen digits or more, or minus zero. A
 * match inside a string costs time only.
 */
const DELICATE = /(?:^|[:,[\s])(?:-0|-?\d+[.eE]|-?\d{16})/;
/** Longer texts skip the search: they are mostly one hex string and have few numbers. */
const SEARCHED_CHARS = 65_536;

/**
 * Parses JSON. Exact integers become `number`, all other numbers `JsonNumber`. Takes linear time; a reviver of
 * `JSON.parse` takes seconds for a list of a million numbers.
 * @throws SyntaxError; RangeError for too many levels or tokens
 */
export function parseLossless(text: string): unknown {
  if (text.length <= SEARCHED_CHARS && !DELICATE.test(text)) return parseBoundedJson(text);
  const reader = new LosslessReader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\n\r]*/y;
/** Highest character code of white space in JSON. */
const SPACE_CODE = 0x20;
/** Matches characters of a JSON string that are escaped or forbidden. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids just these in strings.
const SPECIAL = /[\\\u0000-\u001f]/;

class LosslessReader {
  readonly #text: string;
  #at = 0;
  #tokens = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): unknown {
    this.#space();
    this.#tokens += 1;
    if (depth > MAX_JSON_DEPTH || this.#tokens > MAX_JSON_TOKENS) throw tooComplex();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case 't':
      case 'f':
      case 'n':
        return JSON.parse(this.#skip(WORD));
      default:
        return numberOf(this.#skip(NUMBER));
    }
  }

  /** @throws SyntaxError when text follows the value */
  end(): void {
    this.#space();
    if (this.#at < this.#text.length) throw this.#wrong();
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    if (this.#next(']')) return items;
    do items.push(this.value(depth + 1));
    while (this.#next(','));
    if (!this.#next(']')) throw this.#wrong();
    return items;
  }

  #object(depth: number): object {
    const members: [string, unknown][] = [];
    this.#at += 1;
    if (this.#next('}')) return {};
    do {
      this.#space();
      if (this.#text[this.#at] !== '"') throw this.#wrong();
      const name = this.#string();
      if (!this.#next(':')) throw this.#wrong();
      members.push([name, this.value(depth + 1)]);
    } while (this.#next(','));
    if (!this.#next('}')) throw this.#wrong();
    // `fromEntries` defines members, so `__proto__` becomes an ordinary member.
    return Object.fromEntries(members);
  }

  #string(): string {
    const start = this.#at;
    const end = endOfString(this.#text, start);
    if (end === this.#text.length) throw new SyntaxError('The text ends in a string: unexpected end.');
    this.#at = end + 1;
    const inner = this.#text.slice(start + 1, end);
    return SPECIAL.test(inner) ? String(JSON.parse(`"${inner}"`)) : inner;
  }

  #next(mark: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    if (this.#text.charCodeAt(this.#at) <= SPACE_CODE) this.#skip(SPACE);
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined) throw this.#wrong();
    this.#at += found.length;
    return found;
  }

  #wrong(): SyntaxError {
    return new SyntaxError(this.#at >= this.#text.length ? 'Unexpected end of JSON.' : `No JSON at ${this.#at}.`);
  }
}

function numberOf(source: string): number | JsonNumber {
  const value = Number(source);
  return Number.isSafeInteger(value) && String(value) === source ? value : new JsonNumber(source);
}

/** A value that `writeLossless` writes as a number with these digits. */
export function rawNumber(source: string): object {
  return JSON.rawJSON(source);
}

/** Writes JSON, with `rawNumber` and `JsonNumber` values at any depth. */
export function writeLossless(value: unknown): string {
  return JSON.stringify(value);
}
