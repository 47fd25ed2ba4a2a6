import type { Catalog } from '../../catalog/catalog.ts';
import type { SpooledContent } from '../../catalog/content-table.ts';
import type { ContentName } from '../../core/blob/ids.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { CustomUpkeep } from '../../replication/custom/custom-upkeep.ts';
import type { Site } from '../../replication/site.ts';
import { StorageError } from '../../storage/errors.ts';
import type { LocalStore } from '../../storage/local/local-store.ts';
import { forgetBytes, type RehashRule } from '../../verify/verified-blob.ts';

export interface FindAgainModules {
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly sites: readonly Site[];
  readonly rehash: RehashRule;
  readonly custom: CustomUpkeep;
  readonly clock: Clock;
}

/**
 * What was withheld and not purged is still where it was: it is looked for, and proven, before it counts. Gives where it
 * was found. A place that does not answer has it queued, and its replicator finds out.
 */
export async function findAgain(name: ContentName, modules: FindAgainModules, signal: AbortSignal): Promise<string[]> {
  const { catalog, store, sites, rehash, custom, clock } = modules;
  const entry = catalog.find(name.versionHash).find(({ hashType }) => hashType === name.hashType);
  const content = (sizeBytes: number): SpooledContent => ({
    ...name,
    sizeBytes,
    txid: entry?.txid ?? null,
    medianTimeSeconds: entry?.medianTimeSeconds ?? null,
    firstSeenMs: entry?.firstSeenMs ?? clock.wallMs(),
  });
  const lookHere = async () => {
    const copy = await store.copy(name, signal);
    if (copy === null || rehash.prove(name, copy.blob.bytes, copy.identity) === null) return false;
    catalog.recordSpooled([content(copy.blob.bytes.length)]);
    return true;
  };
  const lookAt = async (site: Site) => {
    const finding = await site.read(name, signal);
    if (finding.kind !== 'good') return false;
    catalog.replicas.recordFound(site.id, [content(finding.blob.bytes.length)]);
    forgetBytes(finding.blob);
    return true;
  };
  const places = [
    { id: store.id, look: lookHere },
    ...sites.map((site) => ({ id: site.id, look: () => lookAt(site) })),
  ];
  const found: string[] = [];
  for (const { id, look } of places) {
    try {
      if (await look()) found.push(id);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
    }
  }
  // What is still withheld by another hash type is passed over.
  const customs = Object.entries(await custom.adopt(null, name.versionHash, signal));
  return [...found, ...customs.filter(([, { adopted }]) => adopted > 0).map(([id]) => `${id} (custom)`)];
}
