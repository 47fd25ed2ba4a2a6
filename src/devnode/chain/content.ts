import { getHashes, hash } from 'node:crypto';
import { type HashType, parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
import { type BlobHasher, hashWith, nobleHasher } from '../../verify/hasher.ts';
import { seededBytes } from './seeded-bytes.ts';

/** Source of a content's bytes. Only submitted bytes are stored; labelled bytes are computed on demand. */
export type ContentSource =
  | { readonly kind: 'label'; readonly label: string }
  | { readonly kind: 'stored'; readonly read: () => Uint8Array };

/** The content that one version hash names. */
export interface Content {
  readonly versionHash: VersionHash;
  /** Hash type of the commitment on chain. */
  readonly hashType: HashType;
  readonly sizeBytes: number;
  readonly source: ContentSource;
}

const NATIVE = new Set(getHashes());
const nativeOrNoble: BlobHasher =
  NATIVE.has('keccak-256') && NATIVE.has('blake2s256')
    ? {
        engine: 'native',
        keccak256: (bytes) => hash('keccak-256', bytes, 'buffer'),
        blake2s256: (bytes) => hash('blake2s256', bytes, 'buffer'),
      }
    : nobleHasher;

export function versionHashOf(hashType: HashType, bytes: Uint8Array): VersionHash {
  return parseVersionHash(Buffer.from(hashWith(nativeOrNoble, hashType, bytes)).toString('hex'));
}

export function bytesOf(content: Content): Uint8Array {
  switch (content.source.kind) {
    case 'label':
      return seededBytes(content.source.label, content.sizeBytes);
    case 'stored':
      return content.source.read();
    default:
      return content.source satisfies never;
  }
}
