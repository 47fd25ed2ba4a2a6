/** A string value cut out of an answer: bytes `start` to `end` of the body, without quotes. */
export interface CutField {
  readonly start: number;
  readonly end: number;
}

export interface CutAnswer {
  /** The answer as JSON text, in which `marker(index)` replaces each cut value. */
  readonly text: string;
  readonly fields: readonly CutField[];
}

const KEY = Buffer.from('"data":"', 'latin1');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A placeholder that is not hex, so that it cannot be mistaken for data that stayed in the answer. */
export function marker(index: number): string {
  return `@${index}`;
}

/**
 * Cuts the values of `"data":"…"` out of a body, so that megabytes of hex are neither parsed nor turned into a string.
 * A wrong cut is detected: the remaining text is parsed strictly, and the hex decoder refuses quotes and backslashes.
 * @param expectedChars likely lengths of the values, in their likely order
 */
export function cutDataFields(body: Buffer, expectedChars: readonly number[]): CutAnswer {
  const fields: CutField[] = [];
  let text = '';
  let copied = 0;
  let expected = 0;
  for (let at = body.indexOf(KEY); at >= 0; at = body.indexOf(KEY, at + 1)) {
    // The end of a longer key, such as `…\"data`.
    if (body[at - 1] === BACKSLASH) continue;
    const start = at + KEY.length;
    let guess = expected;
    while (guess < expectedChars.length && body[start + (expectedChars[guess] ?? 0)] !== QUOTE) guess += 1;
    const chars = expectedChars[guess];
    const end = chars === undefined ? body.indexOf(QUOTE, start) : start + chars;
    if (end < 0) break;
    if (chars !== undefined) expected = guess + 1;
    text += body.toString('utf8', copied, start) + marker(fields.length);
    fields.push({ start, end });
    copied = end;
    at = end;
  }
  return { text: text + body.toString('utf8', copied), fields };
}
