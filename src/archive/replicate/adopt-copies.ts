import { type ContentName, HASH_TYPES } from '../../blob/ids.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { SpooledContent } from '../../catalog/content-table.ts';
import type { StoredEntry } from '../../storage/blob-store.ts';
import { forgetBytes } from '../../verify/verified-blob.ts';
import type { Site } from './site.ts';

export interface AdoptingModules {
  readonly catalog: Catalog;
  readonly nowMs: () => number;
  /** Told as it goes on. */
  readonly progress: (adopted: Adopted) => void;
}

export interface Adopted {
  readonly adopted: number;
  /** Listed there, and did not hash to their names: as if they were not there. */
  readonly damaged: number;
}

const AT_A_TIME = 8;
const GROUP_ENTRIES = 128;

/** Every blob that a backend lists and the catalog does not know it to hold: fetched, hashed, and given its row. */
export async function adoptCopies(site: Site, modules: AdoptingModules, signal: AbortSignal): Promise<Adopted> {
  const { catalog, progress } = modules;
  const count = { adopted: 0, damaged: 0 };
  let group: SpooledContent[] = [];
  const commit = () => {
    catalog.replicas.recordFound(site.id, group);
    group = [];
    progress({ ...count });
  };
  const underWay = new Set<Promise<void>>();
  const take = async (entry: StoredEntry | ContentName) => {
    const found = await firstProven(site, namesOf(entry), modules.nowMs, signal);
    if (found === null) count.damaged += 1;
    else {
      count.adopted += 1;
      group.push(found);
    }
    if (group.length >= GROUP_ENTRIES) commit();
  };
  for await (const entry of site.store.names?.(signal) ?? site.store.list(signal)) {
    signal.throwIfAborted();
    const isKnown = catalog.replicas
      .known(site.id, entry, 'hashTypeUnsaid' in entry)
      .some(({ state }) => state === 'good');
    if (isKnown) continue;
    const work = take(entry).finally(() => underWay.delete(work));
    underWay.add(work);
    if (underWay.size >= AT_A_TIME) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  commit();
  return count;
}

function namesOf(entry: StoredEntry | ContentName): ContentName[] {
  const { versionHash } = entry;
  if (!('hashTypeUnsaid' in entry)) return [{ hashType: entry.hashType, versionHash }];
  return HASH_TYPES.map((hashType) => ({ hashType, versionHash }));
}

async function firstProven(
  site: Site,
  names: readonly ContentName[],
  nowMs: () => number,
  signal: AbortSignal,
): Promise<SpooledContent | null> {
  for (const name of names) {
    const finding = await site.read(name, signal);
    if (finding.kind !== 'good') continue;
    const sizeBytes = finding.blob.bytes.length;
    forgetBytes(finding.blob);
    const { hashType, versionHash } = name;
    return { hashType, versionHash, sizeBytes, txid: null, medianTimeSeconds: null, firstSeenMs: nowMs() };
  }
  return null;
}
