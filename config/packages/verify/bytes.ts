/** `@holdfast/verify/bytes`: bytes against their version hash. */
export { type ErrorFacts, HoldfastError } from '../../../src/core/blob/errors.ts';
export { type HashType, parseVersionHash, type VersionHash } from '../../../src/core/blob/ids.ts';
export { type BlobHasher, nobleHasher } from '../../../src/verify/hasher.ts';
export { type UnverifiedBlob, VerifiedBlob, verifyBlob } from '../../../src/verify/verified-blob.ts';
