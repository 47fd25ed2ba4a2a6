import { encodeHex } from '../core/blob/hex.ts';
import { type ContentName, parseVersionHash } from '../core/blob/ids.ts';
import type { Transaction } from './transaction.ts';

/** The transaction version that carries blobs. */
export const BLOB_TRANSACTION_VERSION = 137;

/** An output that commits to content. */
export interface Commitment extends ContentName {
  readonly vout: number;
}

/** Payload of a transaction of version 137. */
export type Carried =
  | { readonly kind: 'one'; readonly commitment: Commitment }
  /**
   * Zero, several, or one output that the node would ignore. Known releases refuse the block of such a transaction
   * unless `nodeTakes` is there, so `nodeTakes` counts on their chains. No such transaction is recorded.
   */
  | {
      readonly kind: 'unclear';
      readonly candidates: readonly Commitment[];
      readonly nodeTakes: Commitment | null;
    };

const OP_RETURN = 0x6a;
const OP_PUSHDATA1 = 0x4c;
const OP_PUSHDATA4 = 0x4e;
/** Longer scripts count as unspendable too: `MAX_SCRIPT_SIZE` in the node's `script.h`. */
const MAX_SCRIPT_BYTES = 10_000;
const DIGEST_BYTES = 32;
const BLAKE2S_TAG = 0x01;
/** Marks the commitment to a block's witnesses (BIP 141). */
const WITNESS_COMMITMENT = [0xaa, 0x21, 0xa9, 0xed] as const;
const WITNESS_COMMITMENT_BYTES = 36;

/**
 * Finds the output that the node reads: the first unspendable one (`GetSyscoinDataOutput` in its
 * `primitives/transaction.cpp`). All recorded transactions have one such output; the handling of more is read from that
 * source, not measured.
 */
export function carriedBy(transaction: Transaction): Carried {
  const outputs = transaction.outputs();
  const candidates: Commitment[] = [];
  for (const [vout, { script }] of outputs.entries()) {
    const name = committedIn(script);
    if (name !== null) candidates.push({ ...name, vout });
  }
  const first = outputs.findIndex(({ script }) => isUnspendable(script));
  const nodeTakes = candidates.find(({ vout }) => vout === first) ?? null;
  if (nodeTakes !== null && candidates.length === 1) return { kind: 'one', commitment: nodeTakes };
  return { kind: 'unclear', candidates, nodeTakes };
}

/**
 * The content that a script commits to; null for none. Recorded forms are `6a 21 20 <32>` (keccak256) and `6a 22 21 01
 * <32>` (blake2s256): OP_RETURN and one push of a vector behind its own length. Every other form that the node accepts
 * counts as well, so that no blob is hidden: any push opcode, a witness commitment before it, a torn push after it
 * (`GetSyscoinData`).
 */
export function committedIn(script: Uint8Array): ContentName | null {
  if (script[0] !== OP_RETURN) return null;
  let push = pushAt(script, 1);
  if (push !== null && isWitnessCommitment(push.data)) push = pushAt(script, push.next);
  if (push === null || hasOperationAt(script, push.next)) return null;
  const vector = push.data;
  if (vector[0] !== vector.length - 1) return null;
  if (vector.length === 1 + DIGEST_BYTES) {
    return { hashType: 'keccak256', versionHash: parseVersionHash(encodeHex(vector.subarray(1))) };
  }
  if (vector.length === 2 + DIGEST_BYTES && vector[1] === BLAKE2S_TAG) {
    return { hashType: 'blake2s256', versionHash: parseVersionHash(encodeHex(vector.subarray(2))) };
  }
  return null;
}

function isUnspendable(script: Uint8Array): boolean {
  return script[0] === OP_RETURN || script.length > MAX_SCRIPT_BYTES;
}

function isWitnessCommitment(data: Uint8Array): boolean {
  return data.length >= WITNESS_COMMITMENT_BYTES && WITNESS_COMMITMENT.every((byte, index) => data[index] === byte);
}

/** A push whose bytes are cut off is no operation. */
function hasOperationAt(script: Uint8Array, at: number): boolean {
  const opcode = script[at];
  return opcode !== undefined && (opcode > OP_PUSHDATA4 || pushAt(script, at) !== null);
}

/** The bytes that the opcode at `at` pushes; null: it pushes none, or is cut off. */
function pushAt(script: Uint8Array, at: number): { data: Uint8Array; next: number } | null {
  const opcode = script[at];
  if (opcode === undefined || opcode > OP_PUSHDATA4) return null;
  let start = at + 1;
  let length = opcode;
  if (opcode >= OP_PUSHDATA1) {
    const lengthBytes = 1 << (opcode - OP_PUSHDATA1);
    length = 0;
    for (let index = lengthBytes - 1; index >= 0; index -= 1) length = length * 256 + (script[start + index] ?? 0);
    start += lengthBytes;
  }
  if (start + length > script.length) return null;
  return { data: script.subarray(start, start + length), next: start + length };
}
