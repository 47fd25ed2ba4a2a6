import { Readable } from 'node:stream';
import { messageOf } from '../../core/blob/errors.ts';
import { lendMemory } from '../../core/blob/lent-memory.ts';
import { NotS3Answer, TruncatedBody } from './s3-error.ts';
import { isSize } from './s3-page.ts';

/**
 * The body, never more than `limit` bytes of it: who announces or sends more is cut there, and what was read fails its
 * hash.
 * @throws TruncatedBody when it ends before the announced length.
 */
export async function readBody(body: unknown, announced: number | undefined, limit: number): Promise<Uint8Array> {
  if (!(body instanceof Readable)) throw new NotS3Answer('the answer has no body');
  if (announced !== undefined && !isSize(announced)) throw new NotS3Answer('the answer has an impossible length');
  const wanted = Math.min(announced ?? limit, limit);
  const whole = announced === undefined ? null : Buffer.from(lendMemory(wanted), 0, wanted);
  const chunks: Uint8Array[] = [];
  let read = 0;
  const take = (chunk: unknown): boolean => {
    if (!(chunk instanceof Uint8Array)) throw new NotS3Answer('a body that is no bytes');
    const bytes = read + chunk.length > wanted ? chunk.subarray(0, wanted - read) : chunk;
    if (whole === null) chunks.push(bytes);
    else whole.set(bytes, read);
    read += bytes.length;
    return read >= wanted;
  };
  try {
    await drain(body, take, announced === wanted);
  } catch (cause) {
    // Node reports a cut answer as a reset connection; a caller that aborted knows from its signal.
    throw new TruncatedBody(`${read} of ${announced ?? 'unknown'} bytes came: ${messageOf(cause)}`);
  }
  if (announced !== undefined && read < wanted) throw new TruncatedBody(`${read} of ${announced} bytes came`);
  return whole ?? Buffer.concat(chunks, read);
}

/**
 * Reads by events: a third faster than `for await` over a body of 2 MiB (measured). Ends early once `take` has enough.
 */
function drain(body: Readable, take: (chunk: unknown) => boolean, toTheEnd: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    body.once('error', reject);
    body.once('end', resolve);
    body.once('close', () => reject(new Error('the connection was closed')));
    body.on('data', (chunk: unknown) => {
      try {
        if (!take(chunk) || toTheEnd) return;
        resolve();
        body.destroy();
      } catch (error) {
        reject(error);
        body.destroy();
      }
    });
  });
}
