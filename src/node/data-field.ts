/** A string value of the answer, cut out of it: bytes `start` to `end` of the body, without its quotes. */
export interface CutField {
  readonly start: number;
  readonly end: number;
}

export interface CutAnswer {
  /** The answer as text, in which each value cut out is replaced by `marker(its index)`: small, and JSON as before. */
  readonly text: string;
  readonly fields: readonly CutField[];
}

const KEY = Buffer.from('"data":"', 'latin1');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** No hex, so that it can never be taken for data that was not cut out. */
export function marker(index: number): string {
  return `@${index}`;
}

/**
 * Cuts the values of `"data":"…"` out of a body, so that megabytes of hex need neither become a string nor be parsed.
 * Nothing is believed of the body here: the text that is left is parsed strictly, and the hex decoder refuses a quote or
 * a backslash, so a wrong cut shows. `expectedChars`: lengths that the values are likely to have, in their likely order.
 */
export function cutDataFields(body: Buffer, expectedChars: readonly number[]): CutAnswer {
  const fields: CutField[] = [];
  let text = '';
  let copied = 0;
  let expected = 0;
  for (let at = body.indexOf(KEY); at >= 0; at = body.indexOf(KEY, at + 1)) {
    // The end of a longer key, `…\"data`: no field of ours.
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
