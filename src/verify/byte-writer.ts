/** Writes the chain's wire format, little-endian. */
export class ByteWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  bytes(part: Uint8Array): this {
    this.#parts.push(part);
    this.#length += part.length;
    return this;
  }

  u32(value: number): this {
    return this.bytes(Uint8Array.of(value, value >>> 8, value >>> 16, value >>> 24));
  }

  compactSize(value: number): this {
    if (value < 0xfd) return this.bytes(Uint8Array.of(value));
    if (value <= 0xffff) return this.bytes(Uint8Array.of(0xfd, value, value >>> 8));
    return this.bytes(Uint8Array.of(0xfe)).u32(value);
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}
