/** Fewer bytes take memory of their own: they are the collector's small change. */
const LENT_FROM_BYTES = 65_536;
/** Memory kept for the next: four of the largest blobs. */
const MOST_SPARE_BYTES = 8_388_608;
/** So much more than is asked for may be lent, as a share: what holds on to a blob holds hardly more than its bytes. */
const SLACK = 1 / 8;

/** Longest unused first. */
const spares: ArrayBuffer[] = [];
let spareBytes = 0;
/** Lent out by their borrowers' views, which may be shorter. */
const lent = new WeakSet<ArrayBuffer>();

/**
 * Memory for so many bytes of one blob, or hardly more; what was in it may still be there. Fresh memory of 2 MiB costs five hundred page
 * faults, and each few dozen MiB of it a garbage collection of everything: given back, it is used again.
 */
export function lendMemory(length: number): ArrayBuffer {
  const at = spares.findIndex(({ byteLength }) => byteLength >= length && byteLength <= length * (1 + SLACK));
  const spare = length < LENT_FROM_BYTES || at < 0 ? undefined : spares.splice(at, 1)[0];
  if (spare === undefined) return new ArrayBuffer(length);
  spareBytes -= spare.byteLength;
  lent.add(spare);
  return spare;
}

/** Is its memory nobody else's, so that it can be handed over or given back? Buffers may share a pool. */
export function ownsMemory(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || buffer.detached) return false;
  return buffer.byteLength === bytes.byteLength || lent.has(buffer);
}

/** The memory came here from another thread, where it was handed over whole. */
export function noteHandedOver({ buffer }: Uint8Array<ArrayBuffer>): void {
  lent.add(buffer);
}

/** Frees the bytes, which are empty afterwards; where the memory is not their own, nothing happens. */
export function giveBackMemory(bytes: Uint8Array): void {
  if (!ownsMemory(bytes)) return;
  // Another object on the same memory: who still holds the old one sees no bytes, and never those of the next.
  const spare = bytes.buffer.transfer();
  if (spare.byteLength < LENT_FROM_BYTES || spare.byteLength > MOST_SPARE_BYTES) return;
  spares.push(spare);
  spareBytes += spare.byteLength;
  while (spareBytes > MOST_SPARE_BYTES) spareBytes -= spares.shift()?.byteLength ?? spareBytes;
}
