import { type BlockHeader, isMergeMined, parseHeader } from './block-header.ts';
import type { ChainProfile } from './chain-profile.ts';
import { doubleSha256 } from './double-sha256.ts';
import { VerifyError, type VerifyErrorCode } from './errors.ts';
import { sameBytes } from './hash-bytes.ts';
import type { MergeMining } from './merge-mining.ts';

/** "\xfa\xbemm": stands before the root of the chains that are mined together. */
const MAGIC = Uint8Array.of(0xfa, 0xbe, 0x6d, 0x6d);
/** More levels than 2^30 chains, or a parent's transactions, can need. */
const MAX_BRANCH_HASHES = 30;
const CHAIN_ID_SHIFT = 16;
const CHAIN_ID_MASK = 0x1f;
const FORMER_CHAIN_ID_MASK = 0x1fff;

/**
 * Checks that the parent block commits to this header, and to no second header of this chain: `CAuxPow::check` and the
 * first part of `CheckProofOfWork` in the public node, rule by rule. In two things it is stricter, where no node writes
 * anything else: the index of the coinbase must be 0, and the coinbase's branch is bounded.
 *
 * The way leads from the header's hash by the chain branch to a root, which stands in the coinbase's script behind the
 * magic bytes; from the coinbase by its own branch to the root in the parent header. Says nothing about the parent's work.
 * @throws VerifyError
 */
export function checkMergeMining(header: BlockHeader, mergeMining: MergeMining, profile: ChainProfile): BlockHeader {
  const refused = (code: VerifyErrorCode, why: string): VerifyError =>
    new VerifyError(code, `The merge-mining data of block ${header.hash} are refused: ${why}`, {
      details: { blockHash: header.hash, chain: profile.name },
    });
  const { coinbase, coinbaseBranch, coinbaseIndex, chainBranch, chainIndex } = mergeMining;
  const parent = parseHeader(mergeMining.parentHeader).header;
  const chainId = chainIdOf(header);
  if (profile.isStrict && !hasIdOf(header, profile)) {
    throw refused('verify/chain-id', `the header carries the chain id ${chainId}, not ${profile.chainId}.`);
  }
  if (profile.isStrict && isMergeMined(parent) && hasIdOf(parent, profile)) {
    throw refused('verify/parent-chain-id', 'the parent is a block of this very chain.');
  }
  if (chainBranch.length > MAX_BRANCH_HASHES) {
    throw refused('verify/chain-branch-too-long', `the chain branch has ${chainBranch.length} hashes.`);
  }
  if (coinbaseBranch.length > MAX_BRANCH_HASHES) {
    throw refused('verify/coinbase-branch-too-long', `the coinbase branch has ${coinbaseBranch.length} hashes.`);
  }
  if (coinbaseIndex !== 0) {
    throw refused('verify/coinbase-index', `the transaction is number ${coinbaseIndex} of the parent, not the first.`);
  }
  if (!sameBytes(foldBranch(coinbase.hash, coinbaseBranch, 0), parent.merkleRoot)) {
    throw refused('verify/coinbase-branch', 'the coinbase branch does not lead to the root in the parent header.');
  }
  const script = coinbase.firstInputScript();
  if (script === null) throw refused('verify/coinbase-input', 'the coinbase has no input.');
  // In the script the root stands as it is shown, which is the reverse of the order of the wire.
  const root = foldBranch(doubleSha256(header.raw), chainBranch, chainIndex).reverse();
  const rootAt = indexOfBytes(script, root, 0);
  if (rootAt < 0) throw refused('verify/chain-root-missing', 'the coinbase does not commit to this header.');
  const magicAt = indexOfBytes(script, MAGIC, 0);
  if (magicAt < 0) throw refused('verify/commitment-missing', 'the coinbase has no mark of merge-mining.');
  if (indexOfBytes(script, MAGIC, magicAt + 1) >= 0) {
    throw refused('verify/commitment-repeated', 'the coinbase has the mark of merge-mining more than once.');
  }
  if (magicAt + MAGIC.length !== rootAt) {
    throw refused('verify/commitment-misplaced', 'the mark of merge-mining is not just before the root.');
  }
  const tail = script.subarray(rootAt + root.length);
  if (tail.length < 8) throw refused('verify/commitment-truncated', 'size and nonce of the chain tree are cut off.');
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
  const size = view.getUint32(0, true);
  if (size !== 2 ** chainBranch.length) {
    throw refused('verify/chain-tree-size', `the coinbase tells of ${size} chains, the branch has another depth.`);
  }
  const expected = expectedIndex(view.getUint32(4, true), chainId, chainBranch.length);
  if (chainIndex !== expected) {
    throw refused('verify/chain-index', `this chain's place among the chains is ${expected}, not ${chainIndex}.`);
  }
  return parent;
}

/**
 * The one place in the tree of chains where a chain may stand, so that one coinbase cannot commit to two of its headers:
 * two steps of a linear congruential generator (`CAuxPow::getExpectedIndex`). Only the lowest `depth` bits count, so
 * arithmetic in 32 bits gives what the node's 64 bits give.
 */
export function expectedIndex(nonce: number, chainId: number, depth: number): number {
  const step = (value: number) => (Math.imul(value, 1_103_515_245) + 12_345) | 0;
  return (step((step(nonce) + chainId) | 0) & (2 ** depth - 1)) >>> 0;
}

/** 0 unless the header is merge-mined: other bits of the version mean other things elsewhere. */
function chainIdOf(header: BlockHeader): number {
  return isMergeMined(header) ? (header.version >>> CHAIN_ID_SHIFT) & CHAIN_ID_MASK : 0;
}

function hasIdOf(header: BlockHeader, { chainId, formerChainId }: ChainProfile): boolean {
  const found = chainIdOf(header);
  return found > 0 ? found === chainId : ((header.version >>> CHAIN_ID_SHIFT) & FORMER_CHAIN_ID_MASK) === formerChainId;
}

function foldBranch(leaf: Uint8Array, branch: readonly Uint8Array[], index: number): Uint8Array {
  let hash = leaf;
  for (const [level, sibling] of branch.entries()) {
    hash = ((index >> level) & 1) === 1 ? doubleSha256(sibling, hash) : doubleSha256(hash, sibling);
  }
  return hash;
}

/** -1: not there. */
function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  for (let at = from; at + wanted.length <= bytes.length; at += 1) {
    let same = 0;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same += 1;
    if (same === wanted.length) return at;
  }
  return -1;
}
