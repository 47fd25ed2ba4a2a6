import { z } from 'zod';
import type { ContentName } from '../core/blob/ids.ts';

const MAX_RECORDS = 64;
const proofs = z.object({ records: z.array(z.unknown()).max(MAX_RECORDS) });

/** The path at which another Holdfast answers the proofs of a blob. */
export function proofPath({ hashType, versionHash }: ContentName): string {
  return `v1/blobs/${hashType === 'blake2s256' ? `01${versionHash}` : versionHash}/proof`;
}

/** The proofs that it answers there; null: none. */
export function proofsIn(answer: unknown): readonly unknown[] | null {
  return proofs.safeParse(answer).data?.records ?? null;
}
