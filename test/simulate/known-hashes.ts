import type { BlobHasher } from '../../src/verify/hasher.ts';

type Hash = (bytes: Uint8Array) => Uint8Array;

const MAX_KNOWN = 4_000;
/** Below it a hash costs less than a look at what is known. */
const LEAST_BYTES = 512;
const KEY_BYTES = 16;

/** Hashes equal bytes once: an archive reads its blobs again and again, and most of a simulated day would go into that. */
export function knowingHashes(hasher: BlobHasher): BlobHasher {
  const { engine } = hasher;
  return { engine, keccak256: knowing(hasher.keccak256), blake2s256: knowing(hasher.blake2s256) };
}

function knowing(hash: Hash): Hash {
  const known = new Map<string, { readonly bytes: Uint8Array; readonly digest: Uint8Array }>();
  return (bytes) => {
    if (bytes.length < LEAST_BYTES) return hash(bytes);
    const key = `${bytes.length} ${Buffer.from(bytes.buffer, bytes.byteOffset, KEY_BYTES).toString('latin1')}`;
    const found = known.get(key);
    // Nothing but equal bytes is taken for the same: a bit that rotted anywhere gives another hash.
    if (found !== undefined && Buffer.compare(found.bytes, bytes) === 0) return new Uint8Array(found.digest);
    const digest = hash(bytes);
    if (known.size >= MAX_KNOWN) known.clear();
    if (found === undefined) known.set(key, { bytes: new Uint8Array(bytes), digest: new Uint8Array(digest) });
    return digest;
  };
}
