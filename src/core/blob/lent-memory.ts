/** Smallest size in bytes that is lent. Smaller arrays are cheap for the garbage collector. */
const LENT_FROM_BYTES = 65_536;
/** Most bytes of spare memory: four of the largest blobs. */
const MAX_SPARE_BYTES = 8_388_608;
/** Largest surplus of lent memory, as a share: a kept blob then holds little more than its own bytes. */
const SLACK = 1 / 8;

/** Spare memory, longest unused first. */
const spares: ArrayBuffer[] = [];
let spareBytes = 0;
/** Memory on loan; the borrower's view may be shorter. */
const lent = new WeakSet<ArrayBuffer>();

/**
 * Lends memory for `length` bytes of one blob, with a small surplus and arbitrary content. Fresh memory of 2 MiB costs
 * five hundred page faults, and each few dozen MiB a full garbage collection. Memory that is given back is lent again.
 */
export function lendMemory(length: number): ArrayBuffer {
  const at = spares.findIndex(({ byteLength }) => byteLength >= length && byteLength <= length * (1 + SLACK));
  const spare = length < LENT_FROM_BYTES || at < 0 ? undefined : spares.splice(at, 1)[0];
  if (spare === undefined) return new ArrayBuffer(length);
  spareBytes -= spare.byteLength;
  lent.add(spare);
  return spare;
}

/**
 * Reports whether the bytes own their whole memory, so that it can be transferred or given back. Buffers may share a
 * pool.
 */
export function ownsMemory(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || buffer.detached) return false;
  return buffer.byteLength === bytes.byteLength || lent.has(buffer);
}

/** Registers memory that another thread transferred to this one. */
export function noteHandedOver({ buffer }: Uint8Array<ArrayBuffer>): void {
  lent.add(buffer);
}

/** Gives the memory back; the bytes are empty afterwards. Does nothing for shared memory. */
export function giveBackMemory(bytes: Uint8Array): void {
  if (!ownsMemory(bytes)) return;
  // A transfer detaches the old object: its holder sees no bytes, and never those of the next borrower.
  const spare = bytes.buffer.transfer();
  if (spare.byteLength < LENT_FROM_BYTES || spare.byteLength > MAX_SPARE_BYTES) return;
  spares.push(spare);
  spareBytes += spare.byteLength;
  while (spareBytes > MAX_SPARE_BYTES) spareBytes -= spares.shift()?.byteLength ?? spareBytes;
}
