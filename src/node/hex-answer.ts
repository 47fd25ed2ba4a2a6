import { bytesOfHex } from './decode.ts';
import { malformedAnswer } from './errors.ts';
import { SMALL_ANSWER_BYTES } from './node-call.ts';
import { parseJson, readEnvelope, resultOf } from './rpc-answer.ts';

const RESULT = Buffer.from('"result"', 'latin1');
const QUOTE = 0x22;

/**
 * Decodes a hex result of many megabytes. As strings, the answer and its result would fill the heap of the daemon, so
 * neither becomes one. Refuses every other large answer.
 * @throws NodeError `node/malformed-answer`
 */
export function bytesOfLargeAnswer(body: Buffer, id: string, method: string): Uint8Array {
  const key = body.indexOf(RESULT);
  const start = body.indexOf(QUOTE, key + RESULT.length) + 1;
  const end = body.indexOf(QUOTE, start);
  const isOneText = key >= 0 && start > 0 && end > start && body.length - (end - start) <= SMALL_ANSWER_BYTES;
  if (!isOneText) throw notHex(body, method);
  // The rest must be an answer whose result is empty.
  const rest = body.toString('utf8', 0, start) + body.toString('utf8', end);
  if (resultOf(readEnvelope(parseJson(rest)), id, method) !== '') throw notHex(body, method);
  return bytesOfHex(body.subarray(start, end), method);
}

function notHex({ length }: Buffer, method: string): Error {
  return malformedAnswer(`The answer to ${method} has ${length} bytes and is not hex.`, { method, length });
}
