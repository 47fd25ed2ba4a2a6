import { Readable } from 'node:stream';
import { messageOf } from '../../blob/errors.ts';
import { NotS3Answer, TruncatedBody } from './s3-error.ts';

/**
 * The body, never more than `limit` bytes of it: who announces or sends more is cut there, and what was read fails its
 * hash.
 * @throws TruncatedBody when it ends before the announced length.
 */
export async function readBody(body: unknown, announced: number | undefined, limit: number): Promise<Uint8Array> {
  if (!(body instanceof Readable)) throw new NotS3Answer('the answer has no body');
  const wanted = Math.min(announced ?? limit, limit);
  const whole = announced === undefined ? null : Buffer.allocUnsafeSlow(wanted);
  const chunks: Buffer[] = [];
  let read = 0;
  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk).subarray(0, wanted - read);
      if (whole === null) chunks.push(bytes);
      else bytes.copy(whole, read);
      read += bytes.length;
      if (read >= wanted && announced !== wanted) break;
    }
  } catch (cause) {
    // Node reports a cut answer as a reset connection; whoever aborted knows it by the signal.
    throw new TruncatedBody(`${read} of ${announced ?? 'unknown'} bytes came: ${messageOf(cause)}`);
  }
  if (announced !== undefined && read < wanted) throw new TruncatedBody(`${read} of ${announced} bytes came`);
  return whole ?? Buffer.concat(chunks, read);
}
