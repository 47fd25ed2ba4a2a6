/** Levels of arrays and objects inside each other. The deepest answer of a node has ten. */
export const MAX_JSON_DEPTH = 64;
/** Values and names of members. The longest list that a node has, with 4,608 blobs, takes 60,000 of them. */
export const MAX_JSON_TOKENS = 500_000;

/** How much there is in a JSON text, told without parsing it. */
export interface JsonSize {
  /** Values and names of members, and at most as many more as there are arrays and objects. */
  readonly tokens: number;
  readonly objects: number;
  readonly depth: number;
}

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
  const { depth, tokens } = jsonSize(text, MAX_JSON_TOKENS);
  if (depth > MAX_JSON_DEPTH || tokens > MAX_JSON_TOKENS) throw tooComplex();
  return JSON.parse(text);
}

/**
 * Looks at the text once and makes nothing: parsing `1,1,1,…` takes a hundred times as long and forty times the memory of
 * its text. What is no JSON has a size as well; whoever parses it finds that out. The bytes of UTF-8 do as text of one
 * character a byte: no mark that counts here is a part of another character. Behind `mostTokens` it looks no further.
 */
export function jsonSize(text: string, mostTokens = Number.POSITIVE_INFINITY): JsonSize {
  let tokens = 1;
  let objects = 0;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length && tokens <= mostTokens; at += 1) {
    const mark = text.charCodeAt(at);
    switch (mark) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COMMA:
      case COLON:
        tokens += 1;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        tokens += 1;
        if (mark === OPEN_OBJECT) objects += 1;
        depth += 1;
        deepest = Math.max(deepest, depth);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth = Math.max(0, depth - 1);
        break;
    }
  }
  return { tokens, objects, depth: deepest };
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
