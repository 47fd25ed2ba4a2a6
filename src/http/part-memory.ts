/** A part of an answer under way to its reader: each costs a turn of the event loop, and a read of its file. */
export const LARGE_PART_BYTES = 524_288;
/** Parts up to this size have memory of their own. */
const SMALL_BYTES = LARGE_PART_BYTES / 4;
/** Memory that no part needed for this long is given up. */
const UNUSED_MS = 1_000;

/**
 * The memory of large parts, for one after the other: new memory for each would cost more time than the read of its file.
 * Memory that is ready for them was in use a moment ago, by answers whose shares of the memory for answers counted it.
 */
export class PartMemory {
  readonly #free: ArrayBufferLike[] = [];
  readonly #lent = new WeakSet<Buffer>();
  /** The fewest that were free since the last look. */
  #unused = 0;
  #look: NodeJS.Timeout | null = null;

  take(bytes: number): Buffer {
    if (bytes <= SMALL_BYTES || bytes > LARGE_PART_BYTES) return Buffer.allocUnsafeSlow(bytes);
    const memory = this.#free.pop() ?? Buffer.allocUnsafeSlow(LARGE_PART_BYTES).buffer;
    this.#unused = Math.min(this.#unused, this.#free.length);
    const part = Buffer.from(memory, 0, bytes);
    this.#lent.add(part);
    return part;
  }

  /** The next part is written over this one, so nothing may send or read it any more. A second call does nothing. */
  giveBack(part: Buffer): void {
    if (!this.#lent.delete(part)) return;
    this.#free.push(part.buffer);
    this.#look ??= setInterval(() => this.#giveUpUnused(), UNUSED_MS).unref();
  }

  #giveUpUnused(): void {
    this.#free.splice(0, this.#unused);
    this.#unused = this.#free.length;
    if (this.#unused > 0 || this.#look === null) return;
    clearInterval(this.#look);
    this.#look = null;
  }
}
