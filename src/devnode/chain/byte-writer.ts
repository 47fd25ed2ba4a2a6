/** Builds the chain's wire format: little-endian integers, compact sizes, length-prefixed vectors. */
export class ByteWriter {
  readonly #chunks: Uint8Array[] = [];

  bytes(bytes: Uint8Array): this {
    this.#chunks.push(bytes);
    return this;
  }

  u8(value: number): this {
    return this.bytes(Uint8Array.of(value));
  }

  u32(value: number): this {
    const buffer = Buffer.allocUnsafe(4);
    buffer.writeUInt32LE(value >>> 0);
    return this.bytes(buffer);
  }

  u64(value: bigint): this {
    const buffer = Buffer.allocUnsafe(8);
    buffer.writeBigUInt64LE(value);
    return this.bytes(buffer);
  }

  compactSize(value: number): this {
    if (value < 0xfd) return this.u8(value);
    if (value <= 0xffff) return this.bytes(Uint8Array.of(0xfd, value & 0xff, value >>> 8));
    return this.u8(0xfe).u32(value);
  }

  prefixed(bytes: Uint8Array): this {
    return this.compactSize(bytes.length).bytes(bytes);
  }

  /** Writes a hash that RPC shows; the wire has its bytes in reversed order. */
  rpcHash(hex: string): this {
    return this.bytes(Buffer.from(hex, 'hex').reverse());
  }

  finish(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}
