import { z } from 'zod';

const MAX_HEIGHT = 2 ** 32 - 1;
const MAX_PARTS = 256;
/** One run for each of 16,384 occurrences takes less. */
const MAX_HELD_CHARS = 65_536;

const height = z.int().min(0).max(MAX_HEIGHT);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();
const counts = z.object({
  missing: count,
  stored: count,
  lost: count,
  withheld: count,
  custom: count,
  'not-archived-by-rule': count,
});
const part = z.object({ from: height, to: height, counts, digest: hash });

/** The answer of another Holdfast to `/v1/inventory`, as far as it is compared. */
export const inventoryAnswer = part.extend({
  format: z.literal(1),
  chain: hash,
  parts: z.array(part).max(MAX_PARTS).nullable(),
  held: z.string().max(MAX_HELD_CHARS).nullable(),
});
/** An inventory of a later Holdfast: its parts are cut otherwise, which contradicts no archive. */
export const otherFormat = z.object({ format: z.int().min(2) });
