/** Reads the chain's wire format from untrusted bytes. Throws a `RangeError` past the end. */
export class ByteReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  bytes(length: number): Buffer {
    if (length > this.remaining) throw new RangeError(`Needs ${length} bytes, has ${this.remaining}.`);
    const slice = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += length;
    return slice;
  }

  u8(): number {
    return this.bytes(1).readUInt8();
  }

  u32(): number {
    return this.bytes(4).readUInt32LE();
  }

  u64(): bigint {
    return this.bytes(8).readBigUInt64LE();
  }

  /** Reads a vector with its length prefix. */
  prefixed(): Buffer {
    return this.bytes(this.compactSize());
  }

  compactSize(): number {
    const first = this.u8();
    if (first < 0xfd) return first;
    if (first === 0xfd) return this.bytes(2).readUInt16LE();
    if (first === 0xfe) return this.u32();
    throw new RangeError('A size of more than 32 bits.');
  }

  /** Reads 32 bytes as RPC shows them, in reversed order. */
  rpcHash(): string {
    return Buffer.from(this.bytes(32)).reverse().toString('hex');
  }
}
