import { z } from 'zod';
import { MalformedError } from '../core/blob/errors.ts';
import { parseBlockHash, parseNamedHash, parseTxId, parseVersionHash, type VersionHash } from '../core/blob/ids.ts';

/** For routes without parameters or query; what a client adds of its own (a cache buster) does not matter. */
export const NOTHING = z.object({});

/** A hash in an answer: of content, a transaction or a block. */
export const HASH_TEXT = z.string().regex(/^[0-9a-f]{64}$/);

const HASH_HEX = { pattern: '^(0[xX])?(01)?[0-9a-fA-F]{64}$' } as const;
const BARE_HEX = { pattern: '^(0[xX])?[0-9a-fA-F]{64}$' } as const;

/** 64 hex characters, with or without `0x`, or the 66 of the chain. */
export const NAMED_HASH = z.object({ versionHash: z.string().meta(HASH_HEX).transform(parseNamedHash) });

/** 64 hex characters, `0x` does no harm: of a transaction. */
export const TRANSACTION = z.object({
  txid: z
    .string()
    .meta(BARE_HEX)
    .transform((text) => parseTxId(text.replace(/^0x/i, ''))),
});

/** A height, or 64 hex characters. Ten digits cannot be a hash, and no height has more. */
export const BLOCK = z.object({
  at: z
    .string()
    .meta({ pattern: '^([0-9]{1,10}|(0[xX])?[0-9a-fA-F]{64})$' })
    .transform((text) => (/^[0-9]{1,10}$/.test(text) ? Number(text) : parseBlockHash(text.replace(/^0x/i, '')))),
});

/** `0x00` and the keccak256 of the bytes: the generic form of OP's alternative DA with its byte for keccak. */
export const KECCAK_COMMITMENT = z.object({
  commitment: z
    .string()
    .meta({ pattern: '^0[xX]00[0-9a-fA-F]{64}$' })
    .transform((text) => ({
      hashType: 'keccak256' as const,
      versionHash: parseCommitment(text),
    })),
});

function parseCommitment(text: string): VersionHash {
  const hex = /^0x00([0-9a-f]{64})$/i.exec(text)?.[1];
  if (hex !== undefined) return parseVersionHash(hex);
  const shown = text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text;
  throw new MalformedError(
    'malformed/version-hash',
    `A commitment must be 0x00 and 64 hex characters, not ${JSON.stringify(shown)}.`,
    {
      details: { length: text.length },
      retryable: false,
      hint: 'Give 0x00 and the keccak256 of the bytes; by version hash, bytes are at /v1/blobs/{version hash}.',
    },
  );
}

/** A hash as live clients send it: 64 hex characters; `0x` does no harm. */
export const BARE_HASH = z.object({
  versionHash: z
    .string()
    .meta(BARE_HEX)
    .transform((text) => parseVersionHash(text.replace(/^0x/i, ''))),
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
    // A number to those who read the description; it arrives as text.
    .meta({ type: 'integer', minimum: 1, maximum: MAX_LISTING, pattern: undefined })
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LISTING, LIMIT_RULE)
    .default(DEFAULT_LISTING),
  order: z.enum(['newest', 'oldest'], 'must be newest or oldest').default('newest'),
});

/** A page is as much work as many records. Before it is decoded: what is no number is refused, and costs nothing. */
export function recordsAskedFor(query: unknown): number {
  const read = z
    .object({ limit: z.coerce.number().int().min(1).max(MAX_LISTING).catch(DEFAULT_LISTING) })
    .safeParse(query);
  return read.success ? read.data.limit : 1;
}

const MAX_CHECKED = 32;
const COUNT_RULE = `must be a list of 1 to ${MAX_CHECKED} version hashes`;

/** The body of `check_vh`. */
export const CHECKED_HASHES = z
  .array(
    z
      .string('must be text')
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex characters, without a prefix')
      .transform(parseVersionHash),
    COUNT_RULE,
  )
  .min(1, COUNT_RULE)
  .max(MAX_CHECKED, COUNT_RULE);

/** The page of the occurrences of a record. */
export const RECORD_QUERY = z.object({
  after: z
    .string('must be given once')
    .max(MAX_CURSOR_CHARS, `must be \`nextOccurrences\` of an earlier page, at most ${MAX_CURSOR_CHARS} characters`)
    .optional(),
});

export const FORMAT_QUERY = z.object({ format: z.enum(['raw', 'hex'], 'must be raw or hex').optional() });
