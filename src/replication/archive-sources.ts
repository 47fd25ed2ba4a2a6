import type { BytesSource } from '../chain/loss-judge.ts';
import type { BlobStore } from '../storage/blob-store.ts';
import type { RecordPath, RecordStore } from '../storage/record-store.ts';
import type { Site } from './site.ts';

/** Whoever may have the bytes of a blob besides the nodes: the data folder, where a crash may have left some, and every backend. */
export function bytesSources(store: Pick<BlobStore, 'id' | 'get'>, sites: readonly Site[]): BytesSource[] {
  const local: BytesSource = { name: `store ${store.id}`, find: (name, signal) => store.get(name, signal) };
  return [local, ...sites.map(siteSource)];
}

function siteSource(site: Site): BytesSource {
  return {
    name: `backend ${site.id}`,
    find(name, signal, isAgain) {
      site.admit();
      const ask = (store: Pick<BlobStore, 'get'>) => site.judged(() => store.get(name, signal), signal);
      return isAgain ? site.afresh(ask) : ask(site.store);
    },
  };
}

/** The backends with names, as far as they may be written to now: before they are bound to our chain they refuse. */
export function recordStores(local: readonly RecordStore[], sites: readonly Site[]): RecordStore[] {
  return [...local, ...sites.map(siteRecords).filter((store) => store !== null)];
}

function siteRecords(site: Site): RecordStore | null {
  const { putRecord, getRecord, listRecords, deleteRecord } = site.store;
  if (putRecord === undefined || getRecord === undefined || listRecords === undefined || deleteRecord === undefined) {
    return null;
  }
  const { store } = site;
  const judged = <T>(signal: AbortSignal, ask: () => Promise<T>) => {
    site.admit();
    return site.judged(ask, signal);
  };
  return {
    id: site.id,
    putRecord: (path: RecordPath, document, signal) =>
      judged(signal, () => putRecord.call(store, path, document, signal)),
    getRecord: (path, signal) => judged(signal, () => getRecord.call(store, path, signal)),
    listRecords: (prefix, signal) => listRecords.call(store, prefix, signal),
    deleteRecord: (path, signal) => judged(signal, () => deleteRecord.call(store, path, signal)),
    takesOthers: (signal) => site.takesOthers(signal),
  };
}
