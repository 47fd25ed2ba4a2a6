/** Parts of files under way to readers, all clients together: the more of them, the smaller each. */
let underWay = 0;
const FEW = 16;
const MANY = 96;
const LARGE_PART_BYTES = 524_288;
const PART_BYTES = 131_072;
const SMALL_PART_BYTES = 32_768;

/** What one answer holds in memory when there are many: a part with its reader, and the next one. */
export const HELD_BYTES = 2 * SMALL_PART_BYTES;

export function partBytes(): number {
  if (underWay <= FEW) return LARGE_PART_BYTES;
  return underWay <= MANY ? PART_BYTES : SMALL_PART_BYTES;
}

/** An answer waits for its reader with a part in memory. */
export function partBegun(): void {
  underWay += 1;
}

export function partEnded(): void {
  underWay -= 1;
}
