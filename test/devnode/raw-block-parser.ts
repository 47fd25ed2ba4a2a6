import { createHash } from 'node:crypto';

/** A second parser of the chain's wire format, which shares no code with the emulator's writer. */
export interface ParsedTransaction {
  readonly txid: string;
  readonly witnessTxid: string;
  readonly version: number;
  readonly scripts: readonly string[];
  readonly values: readonly bigint[];
  readonly witnesses: readonly (readonly string[])[];
  readonly spends: readonly string[];
}

export interface ParsedBlock {
  readonly hash: string;
  readonly previous: string;
  readonly merkleRoot: string;
  readonly time: number;
  readonly transactions: readonly ParsedTransaction[];
}

export function sha256d(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(createHash('sha256').update(bytes).digest()).digest();
}

export function reversed(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toReversed()
    .reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '');
}

export function parseRawBlock(hex: string): ParsedBlock {
  const raw = Buffer.from(hex, 'hex');
  const header = raw.subarray(0, 80);
  const cursor = new Cursor(raw, 80);
  const count = cursor.size();
  const transactions = Array.from({ length: count }, () => parseTransaction(cursor));
  if (cursor.at !== raw.length) throw new Error(`${raw.length - cursor.at} bytes are left over.`);
  return {
    hash: reversed(sha256d(header)),
    previous: reversed(header.subarray(4, 36)),
    merkleRoot: reversed(header.subarray(36, 68)),
    time: header.readUInt32LE(68),
    transactions,
  };
}

export function parseTransaction(cursor: Cursor): ParsedTransaction {
  const start = cursor.at;
  const version = cursor.u32();
  if (cursor.u16() !== 0x0100) throw new Error('No segwit marker.');
  const middle = cursor.at;
  const spends = Array.from({ length: cursor.size() }, () => {
    const from = `${reversed(cursor.take(32))}:${cursor.u32()}`;
    cursor.take(cursor.size());
    cursor.u32();
    return from;
  });
  const outputs = Array.from({ length: cursor.size() }, () => ({
    value: cursor.u64(),
    script: cursor.take(cursor.size()).toString('hex'),
  }));
  const end = cursor.at;
  const witnesses = spends.map(() =>
    Array.from({ length: cursor.size() }, () => cursor.take(cursor.size()).toString('hex')),
  );
  cursor.u32();
  const bytes = cursor.bytes;
  const stripped = [
    bytes.subarray(start, start + 4),
    bytes.subarray(middle, end),
    bytes.subarray(cursor.at - 4, cursor.at),
  ];
  return {
    txid: reversed(sha256d(Buffer.concat(stripped))),
    witnessTxid: reversed(sha256d(bytes.subarray(start, cursor.at))),
    version,
    scripts: outputs.map(({ script }) => script),
    values: outputs.map(({ value }) => value),
    witnesses,
    spends,
  };
}

/** Merkle root of hashes in their RPC form. */
export function rootOf(hashes: readonly string[]): string {
  let level: Buffer[] = hashes.map((hash) => Buffer.from(hash, 'hex').reverse());
  while (level.length > 1) {
    level = level
      .map((left, index) => (index % 2 === 0 ? sha256d(Buffer.concat([left, level[index + 1] ?? left])) : null))
      .filter((node) => node !== null);
  }
  return reversed(level[0] ?? Buffer.alloc(0));
}

export class Cursor {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  take(length: number): Buffer {
    this.at += length;
    if (this.at > this.bytes.length) throw new Error('Past the end.');
    return this.bytes.subarray(this.at - length, this.at);
  }

  u16(): number {
    return this.take(2).readUInt16LE();
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  u64(): bigint {
    return this.take(8).readBigUInt64LE();
  }

  size(): number {
    const [first = 0] = this.take(1);
    if (first < 253) return first;
    return first === 253 ? this.u16() : this.u32();
  }
}
