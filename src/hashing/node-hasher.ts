import { clauseOf, codeOf } from '../core/blob/errors.ts';
import { encodeHex } from '../core/blob/hex.ts';
import type { HashType } from '../core/blob/ids.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import {
  BLAKE2S256_CANDIDATES,
  type HashCandidate,
  type HashFunction,
  KECCAK256_CANDIDATES,
  NOBLE_BLAKE2S256,
  NOBLE_KECCAK256,
} from './hash-candidates.ts';
import { checkedInput, KNOWN_DIGESTS } from './known-digests.ts';

/** An implementation that exists in this Node but was rejected, because it fails or disagrees with noble. */
export interface HasherWarning {
  readonly hashType: HashType;
  readonly engine: string;
  readonly message: string;
}

/** The fastest implementations in this Node that agree with noble. */
export interface NodeHasher extends BlobHasher {
  /** The chosen implementation for each hash. */
  readonly engines: Readonly<Record<HashType, string>>;
  /** Rejected implementations, for the log; empty when none was rejected. */
  readonly warnings: readonly HasherWarning[];
}

export interface HasherCandidates {
  readonly keccak256: readonly HashCandidate[];
  readonly blake2s256: readonly HashCandidate[];
}

/**
 * Chooses an implementation for each hash: the first that gives what noble gave for the checked inputs. Noble itself would
 * take 60 ms and more for them at each start. Falls back to noble and never throws.
 */
export async function createNodeHasher(
  candidates: HasherCandidates = { keccak256: KECCAK256_CANDIDATES, blake2s256: BLAKE2S256_CANDIDATES },
): Promise<NodeHasher> {
  const keccak = await choose('keccak256', candidates.keccak256, NOBLE_KECCAK256);
  const blake = await choose('blake2s256', candidates.blake2s256, NOBLE_BLAKE2S256);
  return {
    engine: keccak.engine === blake.engine ? keccak.engine : `keccak256 ${keccak.engine}, blake2s256 ${blake.engine}`,
    engines: { keccak256: keccak.engine, blake2s256: blake.engine },
    keccak256: keccak.hash,
    blake2s256: blake.hash,
    warnings: [...keccak.warnings, ...blake.warnings],
  };
}

interface Choice {
  readonly engine: string;
  readonly hash: HashFunction;
  readonly warnings: readonly HasherWarning[];
}

async function choose(
  hashType: HashType,
  candidates: readonly HashCandidate[],
  reference: HashFunction,
): Promise<Choice> {
  const warnings: HasherWarning[] = [];
  for (const { engine, load } of candidates) {
    try {
      const hash = await load();
      if (hash === null) continue;
      const wrongLength = firstDisagreement(hash, hashType);
      if (wrongLength === null) return { engine, hash, warnings };
      warnings.push({ hashType, engine, message: `It disagrees with noble on ${wrongLength} bytes.` });
    } catch (error) {
      warnings.push({ hashType, engine, message: `It failed: ${codeOf(error) ?? clauseOf(error)}.` });
    }
  }
  return { engine: 'noble', hash: reference, warnings };
}

function firstDisagreement(hash: HashFunction, hashType: HashType): number | null {
  for (const { length, [hashType]: expected } of KNOWN_DIGESTS) {
    if (encodeHex(hash(checkedInput(length))) !== expected) return length;
  }
  return null;
}
