import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { shake256 } from '@noble/hashes/sha3.js';
import { z } from 'zod';
import { HASH_TYPES } from '../../src/core/blob/ids.ts';

/** Origin: release 5.1.1 of a public node in regtest; its `about` says how it was taken. */
const Recording = z.object({
  losing: z.array(z.string()),
  blobs: z.array(
    z.object({
      label: z.string(),
      size: z.int(),
      hashType: z.enum(HASH_TYPES),
      txid: z.string(),
      versionhash: z.string(),
    }),
  ),
  exchanges: z.record(z.string(), z.object({ status: z.int(), text: z.string() })),
});
export type RecordedBlob = z.infer<typeof Recording>['blobs'][number];

const file = new URL('../vectors/chain-5.1.json.gz', import.meta.url);
const recording = Recording.parse(JSON.parse(gunzipSync(readFileSync(file)).toString()));
export const { losing, blobs } = recording;

const Answer = z.object({ result: z.unknown() });

/** The recorded result of a call. */
export function recorded(method: string, ...params: readonly unknown[]): unknown {
  const exchange = recording.exchanges[JSON.stringify([method, params])];
  if (exchange === undefined) throw new Error(`Not recorded: ${method} ${JSON.stringify(params)}`);
  return Answer.parse(JSON.parse(exchange.text)).result;
}

/** All recorded calls of a method that has this many parameters. */
export function recordedCalls(method: string, params: number): { params: unknown[]; result: unknown }[] {
  const found: { params: unknown[]; result: unknown }[] = [];
  for (const [key, { text }] of Object.entries(recording.exchanges)) {
    const [name, given] = z.tuple([z.string(), z.array(z.unknown())]).parse(JSON.parse(key));
    if (name === method && given.length === params) {
      found.push({ params: given, result: Answer.parse(JSON.parse(text)).result });
    }
  }
  return found;
}

export const hexText = z.string().regex(/^[0-9a-f]*$/);

/** The answer of `getblock` with verbosity 1. */
export const BlockView = z.object({
  hash: z.string(),
  height: z.int(),
  version: z.int(),
  merkleroot: z.string(),
  time: z.int(),
  nonce: z.int(),
  bits: z.string(),
  previousblockhash: z.string(),
  tx: z.array(z.string()),
});

/** Every recorded block, dead ones too: decoded by the node, and raw. */
export const blocks = recordedCalls('getblock', 2)
  .filter(({ params }) => params[1] === 1)
  .map(({ result }) => BlockView.parse(result))
  .map((view) => ({ view, hex: hexText.parse(recorded('getblock', view.hash, 0)) }));

/** The block that the node names for a transaction, dead blocks included. */
export function blockOf(txid: string): (typeof blocks)[number] {
  const found = blocks.filter(({ view }) => view.tx.includes(txid));
  const alive = found.find(({ view }) => !losing.includes(view.hash)) ?? found[0];
  if (alive === undefined) throw new Error(`In no recorded block: ${txid}`);
  return alive;
}

export function bytesOf({ label, size }: RecordedBlob): Uint8Array {
  return shake256(new TextEncoder().encode(label), { dkLen: size });
}
