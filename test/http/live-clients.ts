import { expect } from 'vitest';
import { z } from 'zod';
import { versionHashOf } from '../../src/devnode/chain/content.ts';
import { type RolluxTry, rolluxTry } from './rollux-client.ts';

/** The conclusion of a client that checks hashes itself from an answer. */
export type Fetched =
  | { readonly kind: 'blob'; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed' };

const FAILED: Fetched = { kind: 'failed' };
const HEX = /^(?:[0-9a-fA-F]{2})+$/;
/** Twice 2 MiB, as hex text. */
const MAX_TEXT = 2 * 2 * 1_048_576;

/** bitcoin_da_client: takes the body of `/vh/` for the blob, as hex or raw, and authenticates the hash itself. */
export async function daFetch(base: string, versionHash: string): Promise<Fetched> {
  const body = await bodyAt(`${base}/vh/${versionHash}`);
  if (body === null || body.length === 0 || body.length > MAX_TEXT) return FAILED;
  const text = body.toString('latin1');
  const candidates = [...(HEX.test(text) ? [Buffer.from(text, 'hex')] : []), body];
  const bytes = candidates.find((one) => versionHashOf('keccak256', one) === versionHash);
  return bytes === undefined ? FAILED : { kind: 'blob', bytes: new Uint8Array(bytes) };
}

/** The same: whether blobs that the node no longer knows are final. Any error at all is taken for "missing". */
export async function daCheck(base: string, versionHashes: readonly string[]): Promise<boolean[]> {
  const missing = versionHashes.map(() => false);
  try {
    const answer = await fetch(`${base}/check_vh`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(versionHashes),
    });
    if (!answer.ok) return missing;
    const told = z.array(z.boolean()).parse(await answer.json());
    return told.length === versionHashes.length ? told : missing;
  } catch {
    return missing;
  }
}

export type DaStatus = 'absent' | 'unconfirmed' | 'confirmed' | 'final' | 'error';

const REPLIES = z.array(
  z.object({
    id: z.int(),
    result: z.object({ height: z.int().optional(), chainlock: z.boolean().optional() }).nullable(),
    error: z.object({ code: z.int() }).nullable(),
  }),
);

/** The same, over JSON-RPC: a batch; any -32602 means absent, no height unconfirmed, a chainlock final. */
export async function daBatch(base: string, versionHashes: readonly string[]): Promise<DaStatus[]> {
  const calls = versionHashes.map((hash, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'getnevmblobdata',
    params: [hash, false],
  }));
  try {
    const answer = await fetch(`${base}/`, { method: 'POST', body: JSON.stringify(calls) });
    const replies = new Map(REPLIES.parse(await answer.json()).map((reply) => [reply.id, reply]));
    return versionHashes.map((_, id) => statusOf(replies.get(id)));
  } catch {
    return versionHashes.map(() => 'error');
  }
}

function statusOf(reply: z.output<typeof REPLIES>[number] | undefined): DaStatus {
  if (reply?.error?.code === -32602) return 'absent';
  if (reply === undefined || reply.error !== null || reply.result === null) return 'error';
  if (reply.result.chainlock === true) return 'final';
  return reply.result.height === undefined ? 'unconfirmed' : 'confirmed';
}

/** OP's client of an alternative DA server: 404 is absent, only 200 is the data, which it hashes. */
export async function altDaFetch(base: string, versionHash: string): Promise<Fetched> {
  try {
    const answer = await fetch(`${base}/get/0x00${versionHash}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (answer.status === 404) return { kind: 'absent' };
    if (answer.status !== 200 || versionHashOf('keccak256', bytes) !== versionHash) return FAILED;
    return { kind: 'blob', bytes };
  } catch {
    return FAILED;
  }
}

/** The status is not looked at. null: no whole answer came. */
async function bodyAt(url: string): Promise<Buffer | null> {
  try {
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  } catch {
    return null;
  }
}

/** The belief of each client about one blob after asking once. */
export interface Beliefs {
  readonly rollux: RolluxTry;
  readonly fetched: Fetched;
  readonly isSafe: boolean;
  readonly known: DaStatus;
  readonly altDa: Fetched;
}

export async function beliefsOf(base: string, versionHash: string): Promise<Beliefs> {
  const [rollux, fetched, [isSafe = false], [known = 'error'], altDa] = await Promise.all([
    rolluxTry(`${base}/vh/`, versionHash),
    daFetch(base, versionHash),
    daCheck(base, [versionHash]),
    daBatch(base, [versionHash]),
    altDaFetch(base, versionHash),
  ]);
  return { rollux, fetched, isSafe, known, altDa };
}

/** The allowed beliefs about a final and stored blob: no client drops it, takes other bytes, or gives it up. */
export function expectNotGivenUp({ rollux, fetched, known, altDa }: Beliefs, bytes: Uint8Array): void {
  expect(rollux.kind).not.toBe('dropped');
  for (const one of [rollux, fetched, altDa])
    if ('bytes' in one) expect(Buffer.from(bytes).equals(one.bytes)).toBe(true);
  expect(['final', 'confirmed', 'error']).toContain(known);
  expect(altDa.kind).not.toBe('absent');
}

/** The allowed beliefs about a name that never existed: no client takes it for something. */
export function expectNotBelieved({ rollux, fetched, isSafe, known, altDa }: Beliefs): void {
  expect([rollux.kind, fetched.kind, isSafe]).toEqual(['retried', 'failed', false]);
  expect(['absent', 'error']).toContain(known);
  expect(['absent', 'failed']).toContain(altDa.kind);
}
