const SHARE = 1 / 8;
const MIN_BYTES = 8 * 1_048_576;

/**
 * The given bytes, or an eighth of the memory that the process may have, where that is less. A container of 512 MiB gives
 * answers 64 MiB: the rest is the archiver's own and the system's for connections.
 */
export function withinMemory(bytes: number, mayHaveBytes = process.constrainedMemory()): number {
  // Without a limit the system says 0, or more than any machine has.
  if (mayHaveBytes <= 0) return bytes;
  return Math.min(bytes, Math.max(MIN_BYTES, Math.floor(mayHaveBytes * SHARE)));
}
