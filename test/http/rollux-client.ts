import { z } from 'zod';
import { versionHashOf } from '../../src/devnode/chain/content.ts';

/** The outcome of one try of the Rollux op-node. */
export type RolluxTry =
  /** The node asks again; after four tries the pipeline is reset and the batch is tried again. */
  | { readonly kind: 'retried' }
  /** The batch is dropped for ever: its chain is now another than everybody else's. */
  | { readonly kind: 'dropped' }
  | { readonly kind: 'taken'; readonly bytes: Uint8Array };

/**
 * The op-node's own steps: GET, the status ignored, the whole body read, hex-decoded as Go's `hex.DecodeString` does
 * (an error on an odd number or on anything but digits; nothing decodes to nothing), the hash checked.
 */
export async function rolluxTry(podaUrl: string, versionHash: string): Promise<RolluxTry> {
  let body: string;
  try {
    body = await (await fetch(`${podaUrl}${versionHash}`)).text();
  } catch {
    return { kind: 'retried' };
  }
  if (!/^(?:[0-9a-fA-F]{2})*$/.test(body)) return { kind: 'retried' };
  const bytes = new Uint8Array(Buffer.from(body, 'hex'));
  return versionHashOf('keccak256', bytes) === versionHash ? { kind: 'taken', bytes } : { kind: 'dropped' };
}

/** The outcome of an answer body in Rollux's `SyscoinClient.Call`: the status is ignored. */
export type RolluxCall = { readonly kind: 'error' } | { readonly kind: 'accepted'; readonly data: string };

const REPLY = z.object({
  error: z.object({ code: z.int(), message: z.string() }).nullish(),
  result: z.object({ data: z.string().optional() }).nullish(),
});

/**
 * The op-node's own steps after the body is read: it is unmarshalled into `{ error, result }`, whatever the status. A
 * body that is not such JSON is an error; a body without `error` is a result, and a missing result is empty data, which
 * this path does not hash.
 */
export function rolluxReads(body: string): RolluxCall {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { kind: 'error' };
  }
  const reply = REPLY.safeParse(json);
  if (!reply.success || (reply.data.error ?? null) !== null) return { kind: 'error' };
  return { kind: 'accepted', data: reply.data.result?.data ?? '' };
}
