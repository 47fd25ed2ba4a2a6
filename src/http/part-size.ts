/** A part of a file under way to its reader: each costs a turn of the event loop, and a read of the file. */
export const LARGE_PART_BYTES = 524_288;
/** The part for readers whose client holds large answers already, while memory is scarce. */
export const SMALL_PART_BYTES = 32_768;

/** What an answer in parts holds in memory: a part with its reader, and the next one. */
export function heldInParts(partBytes: number): number {
  return 2 * partBytes;
}
