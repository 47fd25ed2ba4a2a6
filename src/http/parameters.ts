import { z } from 'zod';
import { parseNamedHash, parseVersionHash } from '../blob/ids.ts';

/** For routes without parameters or query; what a client adds of its own (a cache buster) does not matter. */
export const NOTHING = z.object({});

/** 64 hex characters, with or without `0x`, or the 66 of the chain. */
export const NAMED_HASH = z.object({ versionHash: z.string().transform(parseNamedHash) });

/** What live clients send: 64 hex characters; `0x` does no harm. */
export const BARE_HASH = z.object({
  versionHash: z.string().transform((text) => parseVersionHash(text.replace(/^0x/i, ''))),
});

const MAX_LISTING = 1_000;
const DEFAULT_LISTING = 100;
const MAX_CURSOR_CHARS = 512;
const LIMIT_RULE = `must be a whole number from 1 to ${MAX_LISTING}`;

/** Strict: an ignored `limt=5` would look like an answered one. */
export const LISTING_QUERY = z.strictObject({
  after: z
    .string('must be given once')
    .min(1, 'must not be empty')
    .max(MAX_CURSOR_CHARS, `must be \`next\` of an earlier page, at most ${MAX_CURSOR_CHARS} characters`)
    .optional()
    .transform((cursor) => cursor ?? null),
  limit: z
    .string('must be given once')
    .regex(/^[0-9]{1,4}$/, LIMIT_RULE)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LISTING, LIMIT_RULE)
    .default(DEFAULT_LISTING),
  order: z.enum(['newest', 'oldest'], 'must be newest or oldest').default('newest'),
});

export const FORMAT_QUERY = z.object({ format: z.enum(['raw', 'hex'], 'must be raw or hex').optional() });
