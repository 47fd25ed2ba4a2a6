import { z } from 'zod';
import { type ContentName, HASH_TYPES, parseVersionHash } from '../core/blob/ids.ts';

export const MAX_PUBLIC_REASON_CHARS = 300;
/** Line ends, what a terminal would obey, and marks that turn the direction of the text around. */
const NOT_ONE_PLAIN_LINE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** Text for publication: one line, since it stands in answers, in logs and on a page. */
export function isPublicReason(text: string): boolean {
  return text.trim() !== '' && text.length <= MAX_PUBLIC_REASON_CHARS && !NOT_ONE_PLAIN_LINE.test(text);
}

/** null: the value is no text for publication. What another program wrote keeps the record from nothing else. */
export function publicReasonIn(value: unknown): string | null {
  return typeof value === 'string' && isPublicReason(value) ? value : null;
}

const isoTime = z.iso.datetime();
const withheldDocument = z.looseObject({
  format: z.literal(1),
  hashType: z.enum(HASH_TYPES),
  versionHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .transform((text) => parseVersionHash(text)),
  reason: z.string().default(''),
  publicReason: z.unknown().optional().transform(publicReasonIn),
  purge: z
    .unknown()
    .optional()
    .transform((value) => value === true),
  at: isoTime,
  revokedAt: isoTime.nullable(),
});

/** Document on a backend about content that an archiver withholds, or withheld. */
export type WithheldDocument = z.output<typeof withheldDocument>;

/** Throws what is wrong with it. */
export function parseWithheldDocument(text: string): WithheldDocument {
  return withheldDocument.parse(JSON.parse(text));
}

/** Whether a document says that its content is withheld no more; one that cannot be understood revokes nothing. */
export function isRevocation(document: unknown): boolean {
  const { success, data } = withheldDocument.safeParse(document);
  return success && data.revokedAt !== null;
}

/** Whether a document in force has the bytes of this content deleted; one that cannot be understood deletes nothing. */
export function isPurge(document: unknown, name: ContentName): boolean {
  const { success, data } = withheldDocument.safeParse(document);
  return success && data.revokedAt === null && data.purge && withheldPath(data) === withheldPath(name);
}

/** Below `audit/<archiver id>/`. */
export function withheldPath({ hashType, versionHash }: ContentName): string {
  return `withheld/${hashType}/${versionHash}.json`;
}
