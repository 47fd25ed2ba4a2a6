import type { Dialect } from '../../node/method-table.ts';
import type { BlobCache, CacheEntry } from '../chain/blob-cache.ts';
import { sortUnstably } from './list-order.ts';

const DEFAULT_COUNT = 10;

/** Lists a page as each release does: the in-memory map in its own order, then the store by key. */
export function listPage(cache: BlobCache, page: { count: number; from: number }, dialect: Dialect): CacheEntry[] {
  // Negative numbers are read as unsigned: a negative count means all, a negative `from` skips all (recorded).
  const count = page.count === 0 ? DEFAULT_COUNT : page.count >>> 0;
  const from = page.from >>> 0;
  const fresh = cache.fresh();
  const flushed = cache.flushed();
  if (dialect === 'syscoin-4.4') {
    // The map honours `from`. The store does not: every entry before the end of the page is pushed, data and all.
    const end = from + count;
    return [...fresh.slice(from, end), ...flushed.slice(0, Math.max(0, end - fresh.length))];
  }
  const listed = [...fresh, ...flushed].slice(from, Math.min(from + count, fresh.length + flushed.length));
  if (dialect !== 'syscoin-5') return listed;
  return sortUnstably(listed, (a, b) => a.medianTimeSeconds < b.medianTimeSeconds);
}
