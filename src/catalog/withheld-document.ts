import { z } from 'zod';
import { type ContentName, HASH_TYPES, parseVersionHash } from '../core/blob/ids.ts';

const isoTime = z.iso.datetime();
const withheldDocument = z.looseObject({
  format: z.literal(1),
  hashType: z.enum(HASH_TYPES),
  versionHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .transform((text) => parseVersionHash(text)),
  reason: z.string().default(''),
  at: isoTime,
  revokedAt: isoTime.nullable(),
});

/** What lies on a backend of a content that an archiver withholds, or withheld. */
export type WithheldDocument = z.output<typeof withheldDocument>;

/** Throws what is wrong with it. */
export function parseWithheldDocument(text: string): WithheldDocument {
  return withheldDocument.parse(JSON.parse(text));
}

/** Below `audit/<archiver id>/`. */
export function withheldPath({ hashType, versionHash }: ContentName): string {
  return `withheld/${hashType}/${versionHash}.json`;
}
