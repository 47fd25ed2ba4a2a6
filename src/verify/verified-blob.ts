import { encodeHex } from '../core/blob/hex.ts';
import { type ContentName, HASH_TYPES, type HashType, parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import { giveBackMemory } from '../core/blob/lent-memory.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import { type BlobHasher, hashWith } from './hasher.ts';

/** Bytes with a claimed version hash. No code may store or serve them. */
export interface UnverifiedBlob {
  readonly versionHash: VersionHash;
  /** The one hash type that counts, where chain or store name it. null: keccak256 is tried, then blake2s256. */
  readonly hashType: HashType | null;
  readonly bytes: Uint8Array;
}

/** Bytes proven to hash to their version hash. Only this file makes one; storage takes nothing else. */
export class VerifiedBlob implements ContentName {
  readonly hashType: HashType;
  readonly versionHash: VersionHash;
  readonly bytes: Uint8Array;

  private constructor(name: ContentName, bytes: Uint8Array) {
    this.hashType = name.hashType;
    this.versionHash = name.versionHash;
    this.bytes = bytes;
  }

  /** Reserved for this file, which calls it after proving the bytes. */
  static mint({ hashType, versionHash }: ContentName, bytes: Uint8Array): VerifiedBlob {
    return new VerifiedBlob({ hashType, versionHash }, bytes);
  }
}

/**
 * Hashes the bytes; null when no hash that may count gives the version hash, or there are none: the hash of nothing can be
 * on chain, a blob of nothing cannot.
 */
export function verifyBlob(candidate: UnverifiedBlob, hasher: BlobHasher): VerifiedBlob | null {
  if (candidate.bytes.length < MIN_BLOB_BYTES) return null;
  const types = candidate.hashType === null ? HASH_TYPES : [candidate.hashType];
  for (const hashType of types) {
    const { versionHash, bytes } = candidate;
    if (encodeHex(hashWith(hasher, hashType, bytes)) === versionHash) {
      return VerifiedBlob.mint({ hashType, versionHash }, bytes);
    }
  }
  return null;
}

const WORTH_GIVING_BACK_BYTES = 65_536;

/**
 * Frees the bytes of a blob after their last use; they are empty afterwards. The garbage collector alone would leave
 * dozens of MiB resident while blobs stream through.
 */
export function forgetBytes({ bytes }: VerifiedBlob): void {
  // Few bytes are the collector's small change, and giving them back costs more than they are.
  if (bytes.length >= WORTH_GIVING_BACK_BYTES) giveBackMemory(bytes);
}

/** Verification that need not happen on this thread. */
export interface Verifier {
  /** null when no hash that may count gives the version hash. */
  verify(candidate: UnverifiedBlob): Promise<VerifiedBlob | null>;
}

/** Computes one hash, perhaps elsewhere. Gives 32 bytes, and the very bytes that were hashed. */
export type HashElsewhere = (
  hashType: HashType,
  bytes: Uint8Array,
) => Promise<{ readonly digest: Uint8Array; readonly bytes: Uint8Array }>;

/** `verifyBlob` with the hashing done by `hash`. */
export async function verifyBlobElsewhere(
  candidate: UnverifiedBlob,
  hash: HashElsewhere,
): Promise<VerifiedBlob | null> {
  const { versionHash } = candidate;
  let { bytes } = candidate;
  if (bytes.length < MIN_BLOB_BYTES) return null;
  for (const hashType of candidate.hashType === null ? HASH_TYPES : [candidate.hashType]) {
    const hashed = await hash(hashType, bytes);
    bytes = hashed.bytes;
    if (encodeHex(hashed.digest) === versionHash) return VerifiedBlob.mint({ hashType, versionHash }, bytes);
  }
  return null;
}

/** Names bytes whose version hash is unknown. */
export interface Namer {
  /** The blob that these bytes are under this hash; null: no blob has so many bytes. `bytes` are not to be used afterwards. */
  name(hashType: HashType, bytes: Uint8Array): Promise<VerifiedBlob | null>;
}

/** `Namer.name` with the hashing done by `hash`. */
export async function nameElsewhere(
  hashType: HashType,
  bytes: Uint8Array,
  hash: HashElsewhere,
): Promise<VerifiedBlob | null> {
  if (bytes.length < MIN_BLOB_BYTES || bytes.length > MAX_BLOB_BYTES) return null;
  const hashed = await hash(hashType, bytes);
  return VerifiedBlob.mint({ hashType, versionHash: parseVersionHash(encodeHex(hashed.digest)) }, hashed.bytes);
}

function keyOf({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}

/** Facts that show that a file is the hashed one, unchanged. */
export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
  /** Negative: it changed while it was read, and no record matches it. */
  readonly sizeBytes: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

export interface RehashRuleOptions {
  /** Number of remembered files. */
  readonly entries: number;
  /** A file is hashed again when this has passed since it last was: the scrub period. */
  readonly periodMs: number;
  /** A clock that never steps: after a wall clock was set back, a proof of before would hold for so much longer. */
  readonly steadyMs: () => number;
}

/**
 * Bytes are hashed before they leave, unless this process hashed these very bytes since they last changed: a local file
 * whose device, inode, size, mtime and ctime are those it had when it was last verified, within the scrub period.
 */
export class RehashRule {
  /** In the order of proof: the oldest is forgotten first. */
  readonly #proven = new Map<string, { identity: FileIdentity; verifiedAtMs: number }>();
  readonly #hasher: BlobHasher;
  readonly #options: RehashRuleOptions;

  constructor(hasher: BlobHasher, options: RehashRuleOptions) {
    this.#hasher = hasher;
    this.#options = options;
  }

  /**
   * The bytes of a store, proven; null when they are not what their name says. `identity` null: always hashed. Hashing
   * that turns out to be due is `verifier`'s to do, and `bytes` are not to be used afterwards.
   */
  async admit(
    name: ContentName,
    bytes: Uint8Array,
    identity: FileIdentity | null,
    verifier: Verifier,
  ): Promise<VerifiedBlob | null> {
    const key = keyOf(name);
    const proof = this.#proven.get(key);
    if (identity !== null && proof !== undefined && this.#stillHolds(proof, identity))
      return VerifiedBlob.mint(name, bytes);
    const { hashType, versionHash } = name;
    const verified = await verifier.verify({ hashType, versionHash, bytes });
    this.#noteFinding(key, verified, identity);
    return verified;
  }

  /** A file was just written with these very bytes, and is as it was left. */
  noteWritten(blob: VerifiedBlob, identity: FileIdentity): void {
    this.#noteFinding(keyOf(blob), blob, identity);
  }

  /** Forgets a file after a wrong result elsewhere: it is hashed again before it is sent the next time. */
  doubt(name: ContentName): void {
    this.#proven.delete(keyOf(name));
  }

  /** Reports whether this file was proven to be the content, is unchanged since, and was proven recently enough. */
  holds(name: ContentName, identity: FileIdentity): boolean {
    const proof = this.#proven.get(`${name.hashType}/${name.versionHash}`);
    return proof !== undefined && this.#stillHolds(proof, identity);
  }

  /** Reports whether a name was ever proven. Otherwise no file needs to be opened. */
  knows(name: ContentName): boolean {
    return this.#proven.has(`${name.hashType}/${name.versionHash}`);
  }

  /** Hashes whatever was known before: for reading back and scrubbing. */
  prove(name: ContentName, bytes: Uint8Array, identity: FileIdentity | null): VerifiedBlob | null {
    const verified = verifyBlob({ ...name, bytes }, this.#hasher);
    this.#noteFinding(keyOf(name), verified, identity);
    return verified;
  }

  /** `prove`, with the hashing done by `verifier`. `bytes` are not to be used afterwards. */
  async proveElsewhere(
    { hashType, versionHash }: ContentName,
    bytes: Uint8Array,
    identity: FileIdentity | null,
    verifier: Verifier,
  ): Promise<VerifiedBlob | null> {
    const verified = await verifier.verify({ hashType, versionHash, bytes });
    this.#noteFinding(keyOf({ hashType, versionHash }), verified, identity);
    return verified;
  }

  #noteFinding(key: string, verified: VerifiedBlob | null, identity: FileIdentity | null): void {
    this.#proven.delete(key);
    if (verified !== null && identity !== null && identity.sizeBytes >= 0n) this.#remember(key, identity);
  }

  #remember(key: string, identity: FileIdentity): void {
    this.#proven.set(key, { identity, verifiedAtMs: this.#options.steadyMs() });
    for (const oldest of this.#proven.keys()) {
      if (this.#proven.size <= this.#options.entries) return;
      this.#proven.delete(oldest);
    }
  }

  #stillHolds(proof: { identity: FileIdentity; verifiedAtMs: number }, now: FileIdentity): boolean {
    const then = proof.identity;
    return (
      this.#options.steadyMs() - proof.verifiedAtMs < this.#options.periodMs &&
      then.device === now.device &&
      then.inode === now.inode &&
      then.sizeBytes === now.sizeBytes &&
      then.mtimeNs === now.mtimeNs &&
      then.ctimeNs === now.ctimeNs
    );
  }
}
