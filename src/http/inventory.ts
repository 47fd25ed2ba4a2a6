import { z } from 'zod';
import type { Inventory, InventoryView } from '../view/inventory-view.ts';
import { jsonAnswer } from './answer.ts';
import { cannotTellAnswer } from './blob-lookup.ts';
import { HASH_TEXT, NOTHING } from './parameters.ts';
import { defineRoute, type Route } from './route.ts';

export const INVENTORY_PATH = '/v1/inventory';

const MAX_HEIGHT = 2 ** 32 - 1;
/** A height in a query; null where it is not given. */
export const HEIGHT = z
  .string('must be given once')
  .regex(/^[0-9]{1,10}$/, 'must be a height')
  // A number to those who read the description; it arrives as text.
  .meta({ type: 'integer', minimum: 0, maximum: MAX_HEIGHT, pattern: undefined })
  .transform(Number)
  .refine((height) => height <= MAX_HEIGHT, 'must be a height')
  .optional()
  .transform((height) => height ?? null);

/** Strict: an ignored `form=5` would look like an answered one. */
export const RANGE_QUERY = z
  .strictObject({ from: HEIGHT, to: HEIGHT })
  .refine(({ from, to }) => from === null || to === null || from <= to, {
    path: ['to'],
    error: 'must not be below from',
  });

/** Occurrences by what is held of them. */
export const HOLDING_COUNTS = z.object({
  missing: z.int(),
  stored: z.int(),
  lost: z.int(),
  withheld: z.int(),
  custom: z.int(),
  'not-archived-by-rule': z.int(),
});
const PART = z.object({ from: z.int(), to: z.int(), counts: HOLDING_COUNTS, digest: HASH_TEXT });
const INVENTORY = PART.extend({
  format: z.literal(1),
  chain: HASH_TEXT,
  finalHeight: z.int(),
  blockHash: HASH_TEXT,
  parts: z.array(PART).nullable(),
  held: z.string().nullable(),
});

/** Heights that take as long as a small request; a client pays for no more than the second number. */
const HEIGHTS_A_REQUEST = 256;
const MAX_REQUESTS = 200;
/** 256 parts as objects and as text. */
const INVENTORY_WEIGHT_BYTES = 262_144;

/** The inventory of final occurrences, for archives that compare themselves with this one, and for auditors. */
export function inventoryRoutes(view: InventoryView): Route[] {
  return [
    defineRoute({
      path: INVENTORY_PATH,
      says: 'Counts and a digest of the final occurrences at some heights, and of what is held of each; parts to compare.',
      answers: [{ mediaType: 'application/json', schema: INVENTORY }],
      problems: [
        'http/bad-parameter',
        'chain/not-final',
        'chain/not-walked',
        'chain/not-placed',
        'chain/rebuilding',
        'chain/walk-behind',
      ],
      parameters: NOTHING,
      query: RANGE_QUERY,
      countRequests: ({ query }) => requestsFor(RANGE_QUERY.safeParse(query)),
      async answer({ query: { from, to }, signal, hold }) {
        await hold(INVENTORY_WEIGHT_BYTES);
        const lookup = await view.inventory(from, to, signal);
        if (lookup.kind === 'unavailable') return cannotTellAnswer(lookup);
        return jsonAnswer(inventoryOnWire(lookup.inventory));
      },
    }),
  ];
}

/** In one order of members, so that two archives that hold the same give the same bytes. */
function inventoryOnWire(inventory: Inventory) {
  const { from, to, counts, digest, chain, finalHeight, blockHash, parts, held } = inventory;
  return { format: 1, chain, from, to, finalHeight, blockHash, counts, digest, parts, held };
}

function requestsFor(range: ReturnType<typeof RANGE_QUERY.safeParse>): number {
  if (!range.success) return 1;
  const { from, to } = range.data;
  if (from === null || to === null) return MAX_REQUESTS;
  return Math.min(MAX_REQUESTS, 1 + Math.max(0, to - from) / HEIGHTS_A_REQUEST);
}
