import { VerifyError } from './errors.ts';

/** The longest vector that the chain's own reader takes: `MAX_SIZE` in Bitcoin Core's `serialize.h`. */
const MAX_COMPACT_SIZE = 0x02000000;

/**
 * Reads the chain's wire format, little-endian. Never past the end, and never allocates for a count before the bytes
 * for it are known to be there. Slices share memory with the input.
 * @throws VerifyError and nothing else.
 */
export class ByteReader {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.bytes.length - this.#offset;
  }

  skip(length: number, what: string): void {
    if (length > this.remaining) throw this.#truncated(length, what);
    this.#offset += length;
  }

  take(length: number, what: string): Uint8Array {
    const start = this.#offset;
    this.skip(length, what);
    return this.bytes.subarray(start, this.#offset);
  }

  u8(what: string): number {
    const at = this.#offset;
    this.skip(1, what);
    return this.#view.getUint8(at);
  }

  u32(what: string): number {
    const at = this.#offset;
    this.skip(4, what);
    return this.#view.getUint32(at, true);
  }

  i32(what: string): number {
    const at = this.#offset;
    this.skip(4, what);
    return this.#view.getInt32(at, true);
  }

  u64(what: string): bigint {
    const at = this.#offset;
    this.skip(8, what);
    return this.#view.getBigUint64(at, true);
  }

  /** A length or a count, in its shortest form: the chain's own reader refuses any other. */
  compactSize(what: string): number {
    const first = this.u8(what);
    if (first < 0xfd) return first;
    const at = this.#offset;
    if (first === 0xfd) {
      this.skip(2, what);
      return this.#shortest(this.#view.getUint16(at, true), 0xfd, what);
    }
    if (first === 0xfe) return this.#shortest(this.u32(what), 0x10000, what);
    throw this.#absurd(this.u64(what), what);
  }

  /** A count of things that take at least `minBytes` each. */
  count(minBytes: number, what: string): number {
    const count = this.compactSize(what);
    if (count * minBytes > this.remaining) throw this.#absurd(count, what);
    return count;
  }

  /** A vector of bytes behind its length. */
  prefixed(what: string): Uint8Array {
    return this.take(this.compactSize(what), what);
  }

  skipPrefixed(what: string): void {
    this.skip(this.compactSize(what), what);
  }

  /** @throws VerifyError `verify/trailing-bytes` */
  end(what: string): void {
    if (this.remaining === 0) return;
    throw new VerifyError('verify/trailing-bytes', `${this.remaining} bytes follow the end of ${what}.`, {
      details: { offset: this.#offset, bytes: this.remaining },
    });
  }

  #shortest(value: number, least: number, what: string): number {
    if (value < least) {
      throw new VerifyError('verify/malformed', `The size of ${what} is written longer than needed.`, {
        details: { offset: this.#offset, value },
      });
    }
    if (value > MAX_COMPACT_SIZE) throw this.#absurd(value, what);
    return value;
  }

  #absurd(count: number | bigint, what: string): VerifyError {
    return new VerifyError('verify/absurd-count', `${what}: ${count}, with ${this.remaining} bytes left.`, {
      details: { offset: this.#offset, count: String(count), remaining: this.remaining },
    });
  }

  #truncated(length: number, what: string): VerifyError {
    return new VerifyError('verify/truncated', `${what} takes ${length} bytes; ${this.remaining} are left.`, {
      details: { offset: this.#offset, needs: length, remaining: this.remaining },
    });
  }
}
