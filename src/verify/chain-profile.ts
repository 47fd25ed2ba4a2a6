/** Rules of a chain about the work of its headers. */
export interface ChainProfile {
  readonly name: string;
  /** No target of the chain is larger: `powLimit`. */
  readonly easiestTarget: bigint;
  /** Number of the chain among chains that are mined together. The version of each merge-mined header contains it. */
  readonly chainId: number;
  /** The number that its first releases used, and its node still accepts; null: none. */
  readonly formerChainId: number | null;
  /** Refuses headers with another chain's number, and parent headers with its own. */
  readonly isStrict: boolean;
  /**
   * Whether headers are merge-mined, and so name their chain. Work in any other header may belong to another chain with
   * the same hash: every user can pay for a transaction in a Bitcoin block, and prove it under that block's header.
   */
  readonly isMergeMined: boolean;
  /** Hashes that a header must have cost before the level `work` is called reached. */
  readonly leastWork: bigint;
}

/** No easier target than 20 leading zero bits. */
const EASIEST_PUBLIC_TARGET = (1n << 236n) - 1n;
const EASIEST_TEST_TARGET = (1n << 255n) - 1n;

export const CHAIN_NAMES = ['main', 'test', 'regtest'] as const;
export type ChainName = (typeof CHAIN_NAMES)[number];

/** From `kernel/chainparams.cpp` of the public node, all but `isMergeMined` and `leastWork`. */
export const CHAIN_PROFILES: Readonly<Record<ChainName, ChainProfile>> = {
  main: {
    name: 'main',
    easiestTarget: EASIEST_PUBLIC_TARGET,
    chainId: 16,
    formerChainId: 4_096,
    isStrict: true,
    isMergeMined: true,
    // The node's release states 2^91.7 hashes for the first 1,632,040 blocks: 2^71 for each, and blobs came after most of
    // them. An eighth of that leaves room for miners who leave, and still takes one strong machine a month.
    leastWork: 1n << 68n,
  },
  test: {
    name: 'test',
    easiestTarget: EASIEST_PUBLIC_TARGET,
    chainId: 8,
    formerChainId: 4_096,
    isStrict: false,
    isMergeMined: false,
    leastWork: 1n << 20n,
  },
  // Every second hash meets its target: work on this chain shows nothing. The emulated node has the same target.
  regtest: {
    name: 'regtest',
    easiestTarget: EASIEST_TEST_TARGET,
    chainId: 16,
    formerChainId: 4_096,
    isStrict: true,
    isMergeMined: false,
    leastWork: 2n,
  },
};
