import type { BlobStore } from '../../storage/blob-store.ts';
import type { BytesSource } from './loss-judge.ts';

/** The bytes that lie here: a crash may have left some that the catalog does not know. */
export function localSource(store: Pick<BlobStore, 'id' | 'get'>): BytesSource {
  return { name: `store ${store.id}`, find: (name, signal) => store.get(name, signal) };
}
