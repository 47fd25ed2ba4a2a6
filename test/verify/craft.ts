/** Writes blocks for tests, with nothing of `src/verify`: what is parsed must not be written by the parser's own hand. */
import { createHash } from 'node:crypto';

export function doubleSha(bytes: Uint8Array): Buffer {
  const once = createHash('sha256').update(bytes).digest();
  return createHash('sha256').update(once).digest();
}

export function compactSize(value: number): Buffer {
  if (value < 0xfd) return Buffer.of(value);
  const bytes = Buffer.alloc(value <= 0xffff ? 3 : 5);
  bytes[0] = value <= 0xffff ? 0xfd : 0xfe;
  if (value <= 0xffff) bytes.writeUInt16LE(value, 1);
  else bytes.writeUInt32LE(value, 1);
  return bytes;
}

export function prefixed(bytes: Uint8Array): Buffer {
  return Buffer.concat([compactSize(bytes.length), bytes]);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export interface CraftedTransaction {
  readonly version?: number;
  readonly scripts?: readonly Uint8Array[];
  /** Empty: written without witnesses. */
  readonly witness?: readonly Uint8Array[];
  readonly inputScript?: Uint8Array;
  /** Tells one transaction from another. */
  readonly sequence?: number;
}

export function craftTransaction({
  version = 2,
  scripts = [],
  witness = [],
  inputScript = Buffer.alloc(0),
  sequence = 0xffffffff,
}: CraftedTransaction): Buffer {
  const outputs = scripts.map((script) => Buffer.concat([Buffer.alloc(8), prefixed(script)]));
  return Buffer.concat([
    u32(version),
    witness.length > 0 ? Buffer.of(0, 1) : Buffer.alloc(0),
    compactSize(1),
    Buffer.alloc(32, 7),
    u32(3),
    prefixed(inputScript),
    u32(sequence),
    compactSize(scripts.length),
    ...outputs,
    ...(witness.length > 0 ? [compactSize(witness.length), ...witness.map(prefixed)] : []),
    u32(99),
  ]);
}

/** For transactions without witnesses. */
export function merkleRootOf(transactions: readonly Uint8Array[]): Buffer {
  let level = transactions.map(doubleSha);
  while (level.length > 1) {
    const parents: Buffer[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const left = level[at] ?? Buffer.alloc(0);
      parents.push(doubleSha(Buffer.concat([left, level[at + 1] ?? left])));
    }
    level = parents;
  }
  return level[0] ?? Buffer.alloc(32);
}

export interface CraftedBlock {
  readonly version?: number;
  readonly merkleRoot?: Uint8Array;
  readonly mergeMining?: Uint8Array;
  readonly after?: Uint8Array;
}

export function craftHeader(merkleRoot: Uint8Array, version = 0x20000000): Buffer {
  return Buffer.concat([u32(version), Buffer.alloc(32, 5), merkleRoot, u32(1_700_000_000), u32(0x207fffff), u32(1)]);
}

export function craftBlock(transactions: readonly Uint8Array[], options: CraftedBlock = {}): Buffer {
  const { version, merkleRoot = merkleRootOf(transactions), mergeMining, after } = options;
  return Buffer.concat([
    craftHeader(merkleRoot, version),
    mergeMining ?? Buffer.alloc(0),
    compactSize(transactions.length),
    ...transactions,
    after ?? Buffer.alloc(0),
  ]);
}

/** The script of release 5.1 for keccak256 (`6a2120…`) and blake2s256 (`6a222101…`). */
export function commitment(digest: Uint8Array, tag?: number): Buffer {
  const vector = tag === undefined ? Buffer.from(digest) : Buffer.concat([Buffer.of(tag), digest]);
  return Buffer.concat([Buffer.of(0x6a, vector.length + 1, vector.length), vector]);
}
