import type { RecordStore } from '../storage/record-store.ts';
import type { Site } from './site.ts';

/** To read its records, also before it is let in; null: a backend without names (IPFS). */
export function recordsOf({
  store,
}: Pick<Site, 'store'>): Pick<RecordStore, 'id' | 'listRecords' | 'getRecord'> | null {
  const { listRecords, getRecord } = store;
  if (listRecords === undefined || getRecord === undefined) return null;
  return {
    id: store.id,
    listRecords: (prefix, signal) => listRecords.call(store, prefix, signal),
    getRecord: (path, signal) => getRecord.call(store, path, signal),
  };
}
