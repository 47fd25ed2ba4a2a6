import type { BodyBuffers } from './body-buffers.ts';

/** Where pieces of an answer of untold length go first. */
const FIRST_PIECES_BYTES = 128 * 1024;

/** An answer as it comes in, in one piece of memory; without a copy when it comes in one piece. */
export class ArrivingBody {
  readonly #buffers: BodyBuffers;
  readonly #limitBytes: number;
  readonly #onTooLong: (bytes: number) => Error;
  /** The first and so far only piece: memory of undici's. */
  #first: Buffer | null = null;
  /** Memory of ours. */
  #memory: Buffer | null = null;
  #length = 0;
  #announced = 0;

  constructor(buffers: BodyBuffers, limitBytes: number, onTooLong: (bytes: number) => Error) {
    this.#buffers = buffers;
    this.#limitBytes = limitBytes;
    this.#onTooLong = onTooLong;
  }

  /** What `content-length` says; 0 where it says nothing. Throws what `onTooLong` gives. */
  announce(bytes: number): void {
    if (bytes > this.#limitBytes) throw this.#onTooLong(bytes);
    this.#announced = bytes;
  }

  /** Throws what `onTooLong` gives. */
  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#limitBytes) throw this.#onTooLong(length);
    if (this.#length === 0) this.#first = piece;
    else piece.copy(this.#room(length), this.#length);
    this.#length = length;
  }

  /** Valid until `release`. */
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
