import { type BlockHeader, type FullHeader, isMergeMined } from './block-header.ts';
import type { ChainProfile } from './chain-profile.ts';
import { checkMergeMining } from './check-merge-mining.ts';
import { log2Of, targetOf, workOf } from './compact-target.ts';
import { VerifyError } from './errors.ts';

/** Work below this is done by any computer within seconds. */
const TRIVIAL_WORK = 1n << 24n;

/**
 * The work in a header, in hashes, as the chain's node checks it (`CheckProofOfWork`): the header's own hash must meet the
 * target in its bits, or, for a merge-mined header, the hash of the parent that commits to it. Whether the chain asked for
 * that target at that height is not checked: that follows from the headers before it.
 * @throws VerifyError
 */
export function checkHeaderWork({ header, mergeMining }: FullHeader, profile: ChainProfile): bigint {
  const target = targetOf(header.bits, profile.easiestTarget);
  if (!isMergeMined(header)) {
    requireTarget(header, target, header.hash, 'The hash of the header');
  } else if (mergeMining === null) {
    throw new VerifyError(
      'verify/merge-mining-missing',
      `Block ${header.hash} is merge-mined, and came without the data that show its work.`,
      { details: { blockHash: header.hash } },
    );
  } else {
    requireTarget(checkMergeMining(header, mergeMining, profile), target, header.hash, 'The hash of its parent');
  }
  return workOf(target);
}

/** `work of 2^73.4 hashes` */
export function workInWords(hashes: bigint): string {
  const exponent = log2Of(hashes);
  const power = Number.isInteger(exponent) ? `2^${exponent}` : `2^${exponent.toFixed(1)}`;
  const meaning = hashes < TRIVIAL_WORK ? ', which any computer does in seconds' : '';
  return `work of ${power} hashes${meaning}`;
}

function requireTarget(worked: BlockHeader, target: bigint, blockHash: string, whose: string): void {
  if (BigInt(`0x${worked.hash}`) <= target) return;
  throw new VerifyError('verify/work-insufficient', `${whose} is above the target that block ${blockHash} names.`, {
    details: { blockHash, workedHash: worked.hash, target: target.toString(16).padStart(64, '0') },
  });
}
