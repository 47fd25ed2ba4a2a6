import { z } from 'zod';
import { HASH_TYPES, parseVersionHash } from '../core/blob/ids.ts';

/** Heights that one document speaks of: a few hours of a main network, so that it is small and rewritten seldom. */
export const DOCUMENT_HEIGHTS = 64;

const FOLDER = 'not-archived';
const isoTime = z.iso.datetime();

const leftOutDocument = z.looseObject({
  format: z.literal(1),
  from: z.int(),
  to: z.int(),
  blobs: z.array(
    z.looseObject({
      hashType: z.enum(HASH_TYPES),
      versionHash: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .transform((text) => parseVersionHash(text)),
      sizeBytes: z.int().nullable(),
      /** Scripts that a transaction of these blocks spends from, by the word of the node; left out while unknown. */
      senders: z.array(z.string()).optional(),
      rule: z.string(),
      at: isoTime,
    }),
  ),
});

/** Document on a backend about the blobs of some blocks that a rule of the operator left out. */
export type LeftOutDocument = z.output<typeof leftOutDocument>;

/** The lowest height of the document that speaks of this height. */
export function firstHeightOf(height: number): number {
  return height - (height % DOCUMENT_HEIGHTS);
}

/** Below `audit/<archiver id>/`. `from`: a `firstHeightOf`. */
export function leftOutPath(from: number): string {
  return `${FOLDER}/${from}.json`;
}

export function isLeftOutPath(path: string): boolean {
  return path.startsWith(`${FOLDER}/`);
}

/** null: it is none that this version can read. */
export function parseLeftOutDocument(text: string): LeftOutDocument | null {
  try {
    return leftOutDocument.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // The file is not JSON, so another program wrote it.
    return null;
  }
}
