import type { BodyBuffers } from './body-buffers.ts';

/** Size of the first buffer for an answer without a length. */
const FIRST_PIECES_BYTES = 128 * 1024;

/** Collects an answer in one buffer. An answer that arrives in one piece is not copied. */
export class ArrivingBody {
  readonly #buffers: BodyBuffers;
  readonly #limitBytes: number;
  readonly #onTooLong: (bytes: number) => Error;
  /** The only piece so far, in undici's memory. */
  #first: Buffer | null = null;
  /** The collected pieces, in memory from the pool. */
  #memory: Buffer | null = null;
  #length = 0;
  #announced = 0;

  constructor(buffers: BodyBuffers, limitBytes: number, onTooLong: (bytes: number) => Error) {
    this.#buffers = buffers;
    this.#limitBytes = limitBytes;
    this.#onTooLong = onTooLong;
  }

  /** Reserves memory for `content-length` bytes; 0 when the length is unknown. Throws the error of `onTooLong`. */
  announce(bytes: number): void {
    if (bytes > this.#limitBytes) throw this.#onTooLong(bytes);
    this.#announced = bytes;
  }

  /** Adds a piece. Throws the error of `onTooLong`. */
  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#limitBytes) throw this.#onTooLong(length);
    if (this.#length === 0) this.#first = piece;
    else piece.copy(this.#room(length), this.#length);
    this.#length = length;
  }

  /** The whole answer, valid until `release`. */
  whole(): Buffer {
    return (this.#first ?? this.#memory ?? Buffer.alloc(0)).subarray(0, this.#length);
  }

  release(): void {
    if (this.#memory !== null) this.#buffers.giveBack(this.#memory);
    this.#memory = null;
    this.#first = null;
    this.#length = 0;
  }

  #room(needed: number): Buffer {
    if (this.#memory !== null && this.#memory.length >= needed) return this.#memory;
    const wanted = Math.max(needed, this.#announced, this.#length * 2, FIRST_PIECES_BYTES);
    const memory = this.#buffers.take(Math.min(wanted, this.#limitBytes));
    this.whole().copy(memory);
    if (this.#memory !== null) this.#buffers.giveBack(this.#memory);
    this.#first = null;
    this.#memory = memory;
    return memory;
  }
}
