import { VerifyError, type VerifyErrorCode } from './errors.ts';

const MANTISSA = 0x007fffff;
const SIGN = 0x00800000;
/** A hash is a number of 256 bits. */
const HASH_VALUES = 1n << 256n;

/**
 * The largest hash that a block may have, from the four bytes of `nBits`: a mantissa of 23 bits, a sign, and a length in
 * bytes (`arith_uint256::SetCompact` in Bitcoin Core). The node refuses each of the four as well.
 * @throws VerifyError `verify/target-negative`, `verify/target-overflow`, `verify/target-zero`, `verify/target-too-easy`
 */
export function targetOf(bits: number, easiestTarget: bigint): bigint {
  const length = bits >>> 24;
  const mantissa = length <= 3 ? (bits & MANTISSA) >>> (8 * (3 - length)) : bits & MANTISSA;
  if (mantissa !== 0 && (bits & SIGN) !== 0) throw refused('verify/target-negative', bits, 'is negative');
  if (mantissa !== 0 && length + bytesOf(mantissa) > 35) {
    throw refused('verify/target-overflow', bits, 'has more than 256 bits');
  }
  const target = length <= 3 ? BigInt(mantissa) : BigInt(mantissa) << BigInt(8 * (length - 3));
  if (target === 0n) throw refused('verify/target-zero', bits, 'is zero');
  if (target > easiestTarget) throw refused('verify/target-too-easy', bits, 'is easier than any of the chain');
  return target;
}

/** Average number of hashes to meet the target: `GetBlockProof` in Bitcoin Core. */
export function workOf(target: bigint): bigint {
  return HASH_VALUES / (target + 1n);
}

/** The largest target is the least work; fractions do not matter where the number is shown. */
export function log2Of(work: bigint): number {
  const excessBits = Math.max(0, work.toString(2).length - 53);
  return Math.log2(Number(work >> BigInt(excessBits))) + excessBits;
}

function bytesOf(mantissa: number): number {
  if (mantissa > 0xffff) return 3;
  return mantissa > 0xff ? 2 : 1;
}

function refused(code: VerifyErrorCode, bits: number, why: string): VerifyError {
  const shown = bits.toString(16).padStart(8, '0');
  return new VerifyError(code, `The target 0x${shown} in the header ${why}.`, { details: { bits: shown } });
}
