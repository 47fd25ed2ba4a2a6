import type { BytesSource } from '../chain/loss-judge.ts';
import { aroundStore } from '../storage/around-store.ts';
import type { BlobStore } from '../storage/blob-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
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

/** The stores of records and evidence, as far as they may be written to now: before they are bound to our chain they refuse. */
export function recordStores(local: readonly ObjectStore[], sites: readonly Site[]): ObjectStore[] {
  return [...local, ...sites.map(siteRecords).filter((store) => store !== null)];
}

function siteRecords(site: Site): ObjectStore | null {
  const { documents } = site.store;
  if (documents === null) return null;
  const judged = aroundStore(documents, async (_question, ask, signal) => {
    site.admit();
    return await site.judged(ask, signal);
  });
  return { ...judged, probe: (signal) => site.findings(signal) };
}
