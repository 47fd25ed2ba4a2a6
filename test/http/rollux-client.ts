import { blobOf } from './fake-archive-view.ts';

/** What becomes of one try of the Rollux op-node. */
export type RolluxTry =
  /** It asks again; after four tries the pipeline is reset and the batch is tried anew. */
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
  return blobOf(bytes).versionHash === versionHash ? { kind: 'taken', bytes } : { kind: 'dropped' };
}
