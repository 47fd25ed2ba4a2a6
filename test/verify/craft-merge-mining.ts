/** Mines headers for tests, with nothing of `src/verify`: what is checked must not be made by the checker's own hand. */
import { compactSize, craftTransaction, doubleSha, u32 } from './craft.ts';

export const REGTEST_BITS = 0x207fffff;
const REGTEST_TARGET = 0x7fffffn << (8n * 29n);
const MAGIC = Buffer.from('fabe6d6d', 'hex');
export const CHAIN_ID = 16;
/** Merge-mined, chain id 16. */
export const MERGED_VERSION = 0x20100100;

export interface CraftedHeader {
  readonly version?: number;
  readonly previous?: Uint8Array;
  readonly merkleRoot?: Uint8Array;
  readonly time?: number;
  readonly bits?: number;
}

/** Parts of merge-mining data, as the rules of the chain want them, before a test changes one. */
export interface MergedParts {
  readonly header: Buffer;
  readonly magic: Buffer;
  readonly root: Buffer;
  readonly size: number;
  readonly nonce: number;
  readonly chainBranch: readonly Buffer[];
  readonly chainIndex: number;
  readonly coinbaseBranch: readonly Buffer[];
  readonly coinbaseIndex: number;
  readonly parentVersion: number;
  /** null: made from magic, root, size and nonce. */
  readonly script: Buffer | null;
  /** null: one input with the script. */
  readonly coinbase: Buffer | null;
  /** null: the root that coinbase and branch lead to. */
  readonly parentRoot: Buffer | null;
  readonly meetsTarget: boolean;
}

export interface MergedShape extends CraftedHeader {
  readonly chainDepth?: number;
  readonly coinbaseDepth?: number;
  readonly nonce?: number;
  readonly chainId?: number;
}

export function headerBytes({ version, previous, merkleRoot, time, bits }: CraftedHeader, nonce: number): Buffer {
  return Buffer.concat([
    u32(version ?? 0x20000000),
    previous ?? Buffer.alloc(32, 5),
    merkleRoot ?? Buffer.alloc(32, 6),
    u32(time ?? 1_700_000_000),
    u32(bits ?? REGTEST_BITS),
    u32(nonce),
  ]);
}

export function meetsRegtest(header: Uint8Array): boolean {
  return BigInt(`0x${doubleSha(header).reverse().toString('hex')}`) <= REGTEST_TARGET;
}

/** Tries nonces until the hash meets the easiest target, or misses it. */
export function mineHeader(fields: CraftedHeader, { meetsTarget = true } = {}): Buffer {
  for (let nonce = 0; ; nonce += 1) {
    const header = headerBytes(fields, nonce);
    if (meetsRegtest(header) === meetsTarget) return header;
  }
}

/** In 64 bits and with a division at each step, as the node does it. */
export function indexByNode(nonce: number, chainId: number, depth: number): number {
  const mod = 1n << BigInt(depth);
  const step = (value: bigint) => BigInt.asUintN(64, value * 1103515245n + 12345n) % mod;
  return Number(step(step(BigInt(nonce)) + BigInt(chainId)));
}

/** A header with merge-mining data behind it, changed as a test wants it. */
export function craftMerged(
  shape: MergedShape = {},
  change: (parts: MergedParts) => Partial<MergedParts> = () => ({}),
) {
  const { chainDepth = 0, coinbaseDepth = 0, nonce = 7, chainId = CHAIN_ID, ...fields } = shape;
  const header = headerBytes({ version: MERGED_VERSION, ...fields }, 0);
  const chainBranch = Array.from({ length: chainDepth }, (_, level) => Buffer.alloc(32, 0x40 + level));
  const chainIndex = indexByNode(nonce, chainId, chainDepth);
  const honest: MergedParts = {
    header,
    magic: MAGIC,
    root: fold(doubleSha(header), chainBranch, chainIndex).reverse(),
    size: 2 ** chainDepth,
    nonce,
    chainBranch,
    chainIndex,
    coinbaseBranch: Array.from({ length: coinbaseDepth }, (_, level) => Buffer.alloc(32, 0x80 + level)),
    coinbaseIndex: 0,
    parentVersion: 0x20000000,
    script: null,
    coinbase: null,
    parentRoot: null,
    meetsTarget: true,
  };
  const parts = { ...honest, ...change(honest) };
  const script = parts.script ?? scriptOf(parts);
  const coinbase = parts.coinbase ?? craftTransaction({ inputScript: script });
  const merkleRoot = parts.parentRoot ?? fold(doubleSha(coinbase), parts.coinbaseBranch, 0);
  const { meetsTarget } = parts;
  const parent = mineHeader(
    { version: parts.parentVersion, previous: Buffer.alloc(32, 0x11), merkleRoot },
    { meetsTarget },
  );
  const mergeMining = Buffer.concat([
    coinbase,
    Buffer.alloc(32),
    compactSize(parts.coinbaseBranch.length),
    ...parts.coinbaseBranch,
    u32(parts.coinbaseIndex),
    compactSize(parts.chainBranch.length),
    ...parts.chainBranch,
    u32(parts.chainIndex),
    parent,
  ]);
  return { header: parts.header, mergeMining, whole: Buffer.concat([parts.header, mergeMining]) };
}

export function scriptOf({ magic, root, size, nonce }: Pick<MergedParts, 'magic' | 'root' | 'size' | 'nonce'>): Buffer {
  return Buffer.concat([Buffer.from('03010203', 'hex'), magic, root, u32(size), u32(nonce)]);
}

export function fold(leaf: Uint8Array, branch: readonly Uint8Array[], index: number): Buffer {
  let node: Buffer = Buffer.from(leaf);
  for (const [level, sibling] of branch.entries()) {
    node = doubleSha(Buffer.concat(((index >> level) & 1) === 1 ? [sibling, node] : [node, sibling]));
  }
  return node;
}
