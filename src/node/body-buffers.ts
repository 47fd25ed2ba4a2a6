/** Answers shorter than this take memory of their own: reusing it would save nothing. */
const REUSE_FROM_BYTES = 256 * 1024;
/** Buffers are made in these steps, so that answers of nearly the same length can share them. */
const STEP_BYTES = 1024 * 1024;

/**
 * Memory for answer bodies, used again: fresh memory of 4 MiB costs a thousand page faults, about as much as decoding it.
 * Keeps at most `keepBytes`.
 */
export class BodyBuffers {
  readonly #keepBytes: number;
  readonly #free: Buffer[] = [];
  #freeBytes = 0;

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
  }

  /** At least `bytes` long; whatever was in it is still there. */
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
