import { z } from 'zod';
import { messageOf } from '../core/blob/errors.ts';
import { decodeHex } from '../core/blob/hex.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../core/blob/ids.ts';
import { malformedAnswer } from './errors.ts';

/** Schemas of the values in a node's answers. */

const hex64 = z.string().regex(/^[0-9a-fA-F]{64}$/, '64 hex characters are expected');

export const blockHash = hex64.transform(parseBlockHash);
export const txId = hex64.transform(parseTxId);
export const versionHash = hex64.transform(parseVersionHash);
export const height = z.int().nonnegative();
/** Unix seconds. */
export const seconds = z.int().nonnegative();

/**
 * Decodes an answer by its schema.
 * @throws NodeError `node/malformed-answer` with the first wrong field
 */
export function decode<T>(schema: z.ZodType<T>, value: unknown, method: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue === undefined || issue.path.length === 0 ? 'its result' : issue.path.map(String).join('.');
  throw malformedAnswer(`The answer to ${method} is malformed: ${field}: ${issue?.message ?? 'unknown'}.`, {
    method,
    field,
  });
}

/**
 * Decodes hex, which is text or its ASCII bytes.
 * @throws NodeError `node/malformed-answer`
 */
export function bytesOfHex(value: unknown, method: string): Uint8Array {
  if (typeof value !== 'string' && !(value instanceof Uint8Array))
    throw malformedAnswer(`The answer to ${method} is not hex.`, { method });
  try {
    return decodeHex(value);
  } catch (cause) {
    throw malformedAnswer(`The answer to ${method} is not hex: ${messageOf(cause)}`, { method }, cause);
  }
}
