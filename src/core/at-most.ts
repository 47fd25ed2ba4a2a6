/**
 * Options of an `LRUCache` that holds so many entries. Its own largest count takes the memory for that many when the cache
 * is made: https://github.com/isaacs/node-lru-cache#max
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
