import { z } from 'zod';
import type { TxId, VersionHash } from '../core/blob/ids.ts';
import { decode, seconds, txId, versionHash } from './decode.ts';
import { isObject } from './rpc-answer.ts';

/** One entry of the node's cache, in one format for all dialects. */
export interface ListedEntry {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  /** Field `mtp` of release 5 or `mpt` of 4.4; null when the dialect lacks it, and in 4.4 before a block has the blob. */
  readonly medianTimeSeconds: number | null;
  readonly txid: TxId | null;
}

/** The readable part of one page of the list. */
export interface ReadablePage {
  readonly entries: readonly ListedEntry[];
  /** Number of malformed entries, whose names are unknown. */
  readonly unreadable: number;
  /** true when an entry has the field `mpt`, whatever its value. Only release 4.4 gives that field. */
  readonly hasMpt: boolean;
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
      medianTimeSeconds: medianTimeIn(listed),
      txid: listed.txid ?? null,
    }),
  );

/** Release 4.4 gives 0 until a block has the blob (read in its sources). */
export function medianTimeIn({ mtp, mpt }: { readonly mtp?: number | undefined; readonly mpt?: number | undefined }) {
  return mtp ?? (mpt === 0 ? null : (mpt ?? null));
}

const list = z.array(entry);
const anyList = z.array(z.unknown());

/** @throws NodeError `node/malformed-answer` when any entry is malformed */
export function readList(result: unknown): ListedEntry[] {
  return decode(list, result, METHOD);
}

/**
 * Reads each entry by itself, so that a damaged one does not hide the others.
 * @throws NodeError `node/malformed-answer` when the answer is no list
 */
export function readListPage(result: unknown): ReadablePage {
  const listed = decode(anyList, result, METHOD);
  const read = listed.map((one) => entry.safeParse(one));
  const entries = read.flatMap((one) => (one.success ? [one.data] : []));
  const hasMpt = listed.some((one) => isObject(one) && 'mpt' in one);
  return { entries, unreadable: read.length - entries.length, hasMpt };
}
