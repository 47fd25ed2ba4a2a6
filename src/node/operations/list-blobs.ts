import { z } from 'zod';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { checkWholeNumber } from '../arguments.ts';
import { decodeData } from '../blob-answer.ts';
import type { NodeClient } from '../client.ts';
import { decode, seconds } from '../decode.ts';
import { unsupported } from '../dialect-rules.ts';
import { invalidArgument } from '../errors.ts';
import { type ListedEntry, readList } from '../list-answer.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';
import { isObject } from '../rpc-answer.ts';

export interface ListPage {
  /**
   * Most entries. 0 means 10, as does a missing value. Release 4.4 returns more where `from` is behind the entries in its
   * memory: its whole store up to the end of the page, which costs it that much with data.
   */
  readonly count?: number;
  /** Entries to skip. The order changes between calls. */
  readonly from?: number;
}

export interface ListedBlobWithBytes extends ListedEntry {
  /** Bytes; null when the node left the data out. */
  readonly bytes: Uint8Array | null;
}

const DEFAULT_COUNT = 10;
/** Bytes reserved for one entry of about 200 bytes. */
const ENTRY_BYTES = 1_024;

export function listBlobsCall(page: ListPage = {}): NodeCall<ListedEntry[]> {
  // The value before another one is a number: not every release accepts null for a missing value.
  const count = page.count ?? (page.from === undefined ? undefined : DEFAULT_COUNT);
  return { ...listing(page), named: { count, from: page.from }, decode: readList };
}

/** Lists one page of the node's cache, mined blobs or not, without data. */
export async function listBlobs(client: NodeClient, options: ListPage & CallOptions = {}): Promise<ListedEntry[]> {
  return client.run(listBlobsCall(options), options);
}

/**
 * Lists a page with data. Release 5 would leave the data out without an error. `maxBytes` bounds the blobs of the page
 * together.
 */
export function listBlobsWithDataCall(page: ListPage & { readonly maxBytes: number }): NodeCall<ListedBlobWithBytes[]> {
  const { limitBytes, operation } = listing(page);
  return {
    operation,
    limitBytes: limitBytes + page.maxBytes * 2,
    carriesBlobs: true,
    named(release) {
      if (release.dialect === 'syscoin-5')
        throw unsupported('Lists have no data in release 5.', { operation }, release);
      return { count: page.count ?? DEFAULT_COUNT, from: page.from ?? 0, options: { getdata: true } };
    },
    decode(result, bytesOf) {
      const listed = readList(result);
      const raw: readonly unknown[] = Array.isArray(result) ? result : [];
      return listed.map((entry, at) => {
        const one = raw[at];
        const data = isObject(one) ? one['data'] : undefined;
        return { ...entry, bytes: typeof data === 'string' ? decodeData(data, entry, bytesOf) : null };
      });
    },
  };
}

export async function listBlobsWithData(
  client: NodeClient,
  options: ListPage & CallOptions & { readonly maxBytes?: number } = {},
): Promise<ListedBlobWithBytes[]> {
  const maxBytes = options.maxBytes ?? (options.count ?? DEFAULT_COUNT) * MAX_BLOB_BYTES;
  return client.run(listBlobsWithDataCall({ ...options, maxBytes }), options);
}

export interface CacheStatistics {
  readonly blobs: number;
  readonly bytes: number;
  readonly oldestMedianTimeSeconds: number;
  readonly newestMedianTimeSeconds: number;
}

const statistics = z.tuple([
  z.object({
    total_blobs: z.int().nonnegative(),
    total_size: z.int().nonnegative(),
    oldest_mpt: seconds,
    newest_mpt: seconds,
  }),
]);

export function cacheStatisticsCall(): NodeCall<CacheStatistics> {
  return {
    operation: 'listBlobs',
    named(release) {
      if (release.dialect === 'syscoin-5') return { count: 1, from: 0, options: { stats: true } };
      throw unsupported('Statistics of the cache came with release 5.', { operation: 'listBlobs' }, release);
    },
    limitBytes: SMALL_ANSWER_BYTES,
    decode(result) {
      const [all] = decode(statistics, result, 'listBlobs');
      return {
        blobs: all.total_blobs,
        bytes: all.total_size,
        oldestMedianTimeSeconds: all.oldest_mpt,
        newestMedianTimeSeconds: all.newest_mpt,
      };
    },
  };
}

/** Statistics of the cache. Release 5 only. */
export async function cacheStatistics(client: NodeClient, options: CallOptions = {}): Promise<CacheStatistics> {
  return client.run(cacheStatisticsCall(), options);
}

function listing({ count, from }: ListPage): { operation: 'listBlobs'; limitBytes: number } {
  checkWholeNumber(count, 'count');
  checkWholeNumber(from, 'from');
  if (count !== undefined && count > 1_000_000)
    throw invalidArgument('A page has at most 1,000,000 entries.', 'count', count);
  return { operation: 'listBlobs', limitBytes: SMALL_ANSWER_BYTES + (count || DEFAULT_COUNT) * ENTRY_BYTES };
}
