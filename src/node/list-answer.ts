import { z } from 'zod';
import type { TxId, VersionHash } from '../core/blob/ids.ts';
import { decode, seconds, txId, versionHash } from './decode.ts';

/** One entry of the node's cache, alike in all dialects. */
export interface ListedEntry {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  /** `mtp` of release 5, `mpt` of 4.4; null where the dialect does not tell. */
  readonly medianTimeSeconds: number | null;
  readonly txid: TxId | null;
}

/** A page of the list, as far as it can be read. */
export interface ReadablePage {
  readonly entries: readonly ListedEntry[];
  /** Entries that are not as they must be: what they name is not known. */
  readonly unreadable: number;
}

const METHOD = 'listnevmblobdata';

const entry = z
  .object({
    versionhash: versionHash,
    datasize: z.int().nonnegative(),
    mtp: seconds.optional(),
    mpt: seconds.optional(),
    txid: txId.optional(),
  })
  .transform(
    (listed): ListedEntry => ({
      versionHash: listed.versionhash,
      sizeBytes: listed.datasize,
      medianTimeSeconds: listed.mtp ?? listed.mpt ?? null,
      txid: listed.txid ?? null,
    }),
  );

/** @throws NodeError `node/malformed-answer` when one entry is not as it must be */
export function readList(result: unknown): ListedEntry[] {
  return decode(z.array(entry), result, METHOD);
}

/**
 * Entry by entry: one that is damaged keeps nobody from the others.
 * @throws NodeError `node/malformed-answer` when it is no list
 */
export function readListPage(result: unknown): ReadablePage {
  const read = decode(z.array(z.unknown()), result, METHOD).map((one) => entry.safeParse(one));
  const entries = read.flatMap((one) => (one.success ? [one.data] : []));
  return { entries, unreadable: read.length - entries.length };
}
