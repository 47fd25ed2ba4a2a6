import { z } from 'zod';
import type { AttestationView } from '../view/attestation-view.ts';
import { jsonAnswer } from './answer.ts';
import { HEIGHT, HOLDING_COUNTS } from './inventory.ts';
import { HASH_TEXT, NOTHING } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { defineRoute, type Route } from './route.ts';

export const ATTESTATION_PATH = '/v1/attestation';

/** Strict: an ignored `mnoth` would look like an answered one. */
export const ATTESTATION_QUERY = z
  .strictObject({
    month: z
      .string('must be given once')
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be a month like 2026-11')
      .optional()
      .transform((month) => month ?? null),
    from: HEIGHT,
    to: HEIGHT,
  })
  .refine(({ from, to }) => (from === null) === (to === null), { path: ['to'], error: 'takes from, and from takes to' })
  .refine(({ from, to }) => from === null || to === null || from <= to, {
    path: ['to'],
    error: 'must not be below from',
  })
  .refine(({ month, from }) => month === null || from === null, {
    path: ['month'],
    error: 'must not be given with a range',
  });

export const SIGNATURE = z.string().regex(/^[0-9a-f]{128}$/);
/** The chain of signatures from earlier keys to the one that signed. */
export const SUCCESSIONS = z.array(
  z.object({
    statement: z.object({
      kind: z.literal('holdfast/key'),
      format: z.literal(1),
      key: HASH_TEXT,
      next: HASH_TEXT,
      at: z.string(),
    }),
    signature: SIGNATURE,
    accepted: SIGNATURE,
  }),
);
const COUNT = z.int();
const ATTESTATION = z.object({
  statement: z.object({
    kind: z.literal('holdfast/attestation'),
    format: z.literal(1),
    archiver: z.string(),
    key: HASH_TEXT,
    number: z.int(),
    chain: HASH_TEXT,
    from: z.int(),
    to: z.int(),
    blockHash: HASH_TEXT,
    root: HASH_TEXT,
    counts: HOLDING_COUNTS,
    unclear: COUNT,
    at: z.string(),
  }),
  signature: SIGNATURE,
  keys: SUCCESSIONS,
});

/** Statements that this archiver has signed; their readers check them with `holdfast verify` or `holdfast/verify`. */
export function attestationRoutes(view: AttestationView): Route[] {
  return [
    defineRoute({
      path: ATTESTATION_PATH,
      says: 'The latest signed statement of what is held of what is final: of everything, in a month, or of a range that was asked for.',
      answers: [{ mediaType: 'application/json', schema: ATTESTATION }],
      problems: ['http/bad-parameter', 'attestation/absent'],
      parameters: NOTHING,
      query: ATTESTATION_QUERY,
      answer({ query: { month, from, to } }) {
        const range = from === null || to === null ? null : { from, to };
        const found = view.attestation({ month, range });
        return found === null ? problemAnswer('attestation/absent', 'Nothing was signed for that.') : jsonAnswer(found);
      },
    }),
  ];
}
