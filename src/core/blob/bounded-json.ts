/** Most levels of nested arrays and objects. The deepest answer of a node has ten. */
export const MAX_JSON_DEPTH = 64;
/** Most values and member names. The longest list of a node, with 4,608 blobs, has 60,000 of them. */
export const MAX_JSON_TOKENS = 500_000;

/** Size of a JSON text, measured without parsing it. */
export interface JsonSize {
  /** Number of values and member names, and at most one more for each array and object. */
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
 * Parses untrusted JSON. The cost grows with nesting and the number of values far more than with bytes: 15 MB of `[`
 * take the platform's parser seconds. A text beyond the limits is refused before it is parsed.
 * @throws SyntaxError; RangeError for too many levels or tokens
 */
export function parseBoundedJson(text: string): unknown {
  const { depth, tokens } = jsonSize(text, MAX_JSON_TOKENS);
  if (depth > MAX_JSON_DEPTH || tokens > MAX_JSON_TOKENS) throw tooComplex();
  return JSON.parse(text);
}

/**
 * Scans a text once without allocating. Parsing `1,1,1,…` takes a hundred times as long and forty times the memory of
 * its text. Invalid JSON has a size too; the parser refuses it later. A text of UTF-8 bytes works as well, because no
 * multi-byte character contains a counted mark. The scan stops after `maxTokens`.
 */
export function jsonSize(text: string, maxTokens = Number.POSITIVE_INFINITY): JsonSize {
  let tokens = 1;
  let objects = 0;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length && tokens <= maxTokens; at += 1) {
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

/** Index of the last quote of the string that begins at `start`, or the length of the text. */
export function endOfString(text: string, start: number): number {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
}
