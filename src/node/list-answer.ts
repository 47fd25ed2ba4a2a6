import { z } from 'zod';
import type { TxId, VersionHash } from '../blob/ids.ts';
import { decode, seconds, txId, versionHash } from './decode.ts';

/** One entry of the node's cache, alike in all dialects. */
export interface ListedEntry {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  /** `mtp` of release 5, `mpt` of 4.4; null where the dialect does not tell. */
  readonly medianTimeSeconds: number | null;
  readonly txid: TxId | null;
}

const entries = z.array(
  z.object({
    versionhash: versionHash,
    datasize: z.int().nonnegative(),
    mtp: seconds.optional(),
    mpt: seconds.optional(),
    txid: txId.optional(),
  }),
);

/** @throws NodeError `node/malformed-answer` */
export function readList(result: unknown): ListedEntry[] {
  return decode(entries, result, 'listnevmblobdata').map((entry) => ({
    versionHash: entry.versionhash,
    sizeBytes: entry.datasize,
    medianTimeSeconds: entry.mtp ?? entry.mpt ?? null,
    txid: entry.txid ?? null,
  }));
}
