/** Answers shorter than this get fresh memory, because reuse would save nothing. */
const REUSE_FROM_BYTES = 256 * 1024;
/** Buffer sizes are multiples of this, so that answers of similar length share buffers. */
const STEP_BYTES = 1024 * 1024;

/**
 * A pool of buffers for answer bodies. Fresh memory of 4 MiB costs a thousand page faults, as much time as decoding it.
 * Keeps at most `keepBytes` bytes.
 */
export class BodyBuffers {
  readonly #keepBytes: number;
  readonly #free: Buffer[] = [];
  #freeBytes = 0;

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
  }

  /** Returns a buffer of at least `bytes` bytes with arbitrary content. */
  take(bytes: number): Buffer {
    const at = this.#free.findIndex((buffer) => buffer.length >= bytes);
    if (bytes < REUSE_FROM_BYTES || at < 0)
      return Buffer.allocUnsafeSlow(bytes < REUSE_FROM_BYTES ? bytes : stepUp(bytes));
    const [buffer] = this.#free.splice(at, 1);
    if (buffer === undefined) return Buffer.allocUnsafeSlow(stepUp(bytes));
    this.#freeBytes -= buffer.length;
    return buffer;
  }

  giveBack(buffer: Buffer): void {
    if (buffer.length < REUSE_FROM_BYTES || this.#freeBytes + buffer.length > this.#keepBytes) return;
    this.#free.push(buffer);
    this.#freeBytes += buffer.length;
  }
}

function stepUp(bytes: number): number {
  return Math.ceil(bytes / STEP_BYTES) * STEP_BYTES;
}
