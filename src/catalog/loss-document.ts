import { z } from 'zod';
import { type ContentName, HASH_TYPES, parseVersionHash } from '../core/blob/ids.ts';
import type { PlacedOccurrence } from './occurrence-table.ts';

/** A source that was asked for the bytes and answered that it lacks them. */
export interface AbsenceAnswer {
  /** `node http://…`, `backend s3`, … */
  readonly source: string;
  readonly answered: 'absent' | 'wrong-bytes';
  /** ISO 8601. */
  readonly at: string;
}

/** Content that no source had when its deadline was over. */
export interface Loss extends ContentName {
  /** Said of its occurrences up to this height; a later one has a deadline of its own. */
  readonly upToHeight: number;
  readonly deadlineSeconds: number;
  readonly answers: readonly AbsenceAnswer[];
}

/** Reasons why a loss is revoked. */
export const REVOCATIONS = ['bytes-turned-up', 'left-the-branch'] as const;
export type Revocation = (typeof REVOCATIONS)[number];

const isoTime = z.iso.datetime();
const hash = z.string().regex(/^[0-9a-f]{64}$/);
export const lossAnswer = z.object({ source: z.string(), answered: z.enum(['absent', 'wrong-bytes']), at: isoTime });

const lossDocument = z.looseObject({
  format: z.literal(1),
  hashType: z.enum(HASH_TYPES),
  versionHash: hash.transform((text) => parseVersionHash(text)),
  upToHeight: z.int(),
  deadlineSeconds: z.int(),
  recordedAt: isoTime,
  answers: z.array(lossAnswer),
  revokedAt: isoTime.nullable(),
  revokedBecause: z.enum(REVOCATIONS).nullable(),
});
export type LossDocument = z.output<typeof lossDocument>;

const FOLDER = 'lost';

/** Without a slash at its end: the occurrences of a content lie in it. */
export function lossFolder({ hashType, versionHash }: ContentName): string {
  return `${FOLDER}/${hashType}/${versionHash}`;
}

/**
 * Path and text of the evidence of one lost occurrence. It names the output and its block, and the deadline in seconds of
 * the chain's clock. It names each source that denied having the bytes, with the time. `upToHeight`: the evidence covers
 * every other occurrence of this content up to there.
 */
export function lossDocumentOf(loss: Loss, { txid, vout, height, blockHash }: PlacedOccurrence, recordedMs: number) {
  const { hashType, versionHash, upToHeight, deadlineSeconds, answers } = loss;
  const document = {
    format: 1,
    hashType,
    versionHash,
    txid,
    vout,
    height,
    blockHash,
    upToHeight,
    deadlineSeconds,
    recordedAt: new Date(recordedMs).toISOString(),
    answers,
    revokedAt: null,
    revokedBecause: null,
  };
  return { path: `${lossFolder(loss)}/${txid}-${vout}.json`, document };
}

/** null: no evidence of a loss that this version can read. */
export function parseLossDocument(text: string): LossDocument | null {
  try {
    return lossDocument.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // The file is not JSON, so another program wrote it.
    return null;
  }
}

export function isLossPath(path: string): boolean {
  return path.startsWith(`${FOLDER}/`);
}
