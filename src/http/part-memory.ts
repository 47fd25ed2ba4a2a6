/** A part of an answer under way to its reader: each costs a turn of the event loop, and a read of its file. */
export const LARGE_PART_BYTES = 524_288;
/** Parts up to this size have memory of their own. */
const SMALL_BYTES = LARGE_PART_BYTES / 4;
/** Memory that may lie ready, for the parts of a few turns: 4 MiB. */
const MOST = 8;

/** The memory of large parts, for one after the other: new memory for each would cost more time than the read of its file. */
export class PartMemory {
  readonly #free: ArrayBufferLike[] = [];
  readonly #lent = new WeakSet<ArrayBufferLike>();

  take(bytes: number): Buffer {
    if (bytes <= SMALL_BYTES || bytes > LARGE_PART_BYTES) return Buffer.allocUnsafeSlow(bytes);
    const memory = this.#free.pop() ?? Buffer.allocUnsafeSlow(LARGE_PART_BYTES).buffer;
    this.#lent.add(memory);
    return Buffer.from(memory, 0, bytes);
  }

  /** The next part is written over this one, so nothing may send or read it any more. A second call does nothing. */
  giveBack({ buffer }: Buffer): void {
    if (this.#lent.delete(buffer) && this.#free.length < MOST) this.#free.push(buffer);
  }
}
