import type { HashType, VersionHash } from '../../core/blob/ids.ts';

const OP_RETURN = 0x6a;
/** Prefix byte of a BLAKE2s commitment: `0x01 || digest`. A keccak256 commitment is the bare digest. */
const BLAKE2S_TAG = 0x01;

/** Builds `6a 21 20 <32>` or `6a 22 21 01 <32>`: the push holds a vector with its own length prefix (recorded). */
export function commitmentScript(hashType: HashType, versionHash: VersionHash): Buffer {
  const digest = Buffer.from(versionHash, 'hex');
  const versioned = hashType === 'keccak256' ? digest : Buffer.concat([Uint8Array.of(BLAKE2S_TAG), digest]);
  return Buffer.concat([Uint8Array.of(OP_RETURN, versioned.length + 1, versioned.length), versioned]);
}

/** Builds the coinbase output that commits to the witnesses of a block (BIP 141). */
export function witnessCommitmentScript(commitment: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(OP_RETURN, 0x24, 0xaa, 0x21, 0xa9, 0xed), commitment]);
}

export function witnessKeyHashScript(keyHash: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(0x00, 0x14), keyHash]);
}

export function taprootScript(outputKey: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(0x51, 0x20), outputKey]);
}

/** Builds the input script of a coinbase: the height (BIP 34), then an extra nonce of one, as recorded. */
export function coinbaseScript(height: number): Buffer {
  return Buffer.concat([pushInteger(height), Uint8Array.of(0x01, 0x01)]);
}

function pushInteger(value: number): Buffer {
  if (value === 0) return Buffer.of(0x00);
  if (value <= 16) return Buffer.of(0x50 + value);
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.push(rest % 256);
  // The top bit is the sign; a further byte keeps the number positive.
  if (((bytes.at(-1) ?? 0) & 0x80) !== 0) bytes.push(0);
  return Buffer.of(bytes.length, ...bytes);
}
