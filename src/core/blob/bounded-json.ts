/** Levels of arrays and objects inside each other. The deepest answer of a node has ten. */
export const MAX_JSON_DEPTH = 64;
/** Brackets, commas, colons and strings. The longest list that a node has, with 4,608 blobs, takes 100,000 of them. */
export const MAX_JSON_TOKENS = 500_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parses JSON from outside. Its cost grows with nesting and with the number of values far more than with bytes: 15 MB of
 * `[` take the platform's parser seconds. A text that is too deep or has too many tokens is refused before it is parsed.
 * @throws SyntaxError; RangeError when it is too deep or has too many tokens
 */
export function parseBoundedJson(text: string): unknown {
  let depth = 0;
  let tokens = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        tokens += 1;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        tokens += 1;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
      case COLON:
        tokens += 1;
        break;
    }
    if (depth > MAX_JSON_DEPTH || tokens > MAX_JSON_TOKENS) throw tooComplex();
  }
  return JSON.parse(text);
}

export function tooComplex(): RangeError {
  return new RangeError(`JSON has at most ${MAX_JSON_DEPTH} levels and ${MAX_JSON_TOKENS} tokens here.`);
}

/** Where the string that begins at `start` has its last quote; the end of the text where it has none. */
export function endOfString(text: string, start: number): number {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
}
