import type { Catalog } from '../../catalog/catalog.ts';
import type { SpooledContent } from '../../catalog/content-table.ts';
import type { ContentName } from '../../core/blob/ids.ts';
import type { Clock } from '../../core/time/clock.ts';
import { BackendHandle } from '../../replication/backend-handle.ts';
import type { CustomUpkeep } from '../../replication/custom/custom-upkeep.ts';
import type { LocalCopies } from '../../replication/local-copies.ts';
import type { Replication } from '../../replication/replication.ts';
import { StorageError } from '../../storage/errors.ts';
import { forgetBytes } from '../../verify/verified-blob.ts';
import { type PurgeOutcome, purgeEverywhere } from './purge.ts';

/** The places where bytes of withheld names lie, or may come from again: the data folder, the backends and the node's list. */
export class WithheldPlaces {
  readonly #catalog: Catalog;
  readonly #local: LocalCopies;
  readonly #replication: Pick<Replication, 'sites' | 'admit' | 'room'>;
  readonly #custom: Pick<CustomUpkeep, 'adopt'>;
  readonly #poller: { forget(versionHash: ContentName['versionHash']): void };
  readonly #clock: Pick<Clock, 'wallMs'>;

  constructor(
    catalog: Catalog,
    local: LocalCopies,
    replication: Pick<Replication, 'sites' | 'admit' | 'room'>,
    custom: Pick<CustomUpkeep, 'adopt'>,
    poller: { forget(versionHash: ContentName['versionHash']): void },
    clock: Pick<Clock, 'wallMs'>,
  ) {
    this.#catalog = catalog;
    this.#local = local;
    this.#replication = replication;
    this.#custom = custom;
    this.#poller = poller;
    this.#clock = clock;
  }

  /** Tries once to let each backend in, for a command that works alone. */
  async admit(signal: AbortSignal): Promise<void> {
    await this.#replication.admit(signal);
  }

  purge(name: ContentName, signal: AbortSignal): Promise<PurgeOutcome[]> {
    const stores = [this.#local.store, ...this.#replication.sites.map(({ store }) => store)];
    return purgeEverywhere(name, stores, signal);
  }

  /**
   * Searches for bytes that a revoked take-down left in place, and verifies them before they count. Returns the places
   * where they were found. A place that does not answer has the content queued, and its replicator finds out.
   */
  async locate(name: ContentName, signal: AbortSignal): Promise<string[]> {
    const [catalog, local] = [this.#catalog, this.#local];
    this.#poller.forget(name.versionHash);
    const entry = catalog.find(name.versionHash).find(({ hashType }) => hashType === name.hashType);
    const content = (sizeBytes: number): SpooledContent => ({
      ...name,
      sizeBytes,
      txid: entry?.txid ?? null,
      medianTimeSeconds: entry?.medianTimeSeconds ?? null,
      firstSeenMs: entry?.firstSeenMs ?? this.#clock.wallMs(),
    });
    const look = async (site: LocalCopies | BackendHandle, record: (one: SpooledContent) => void) => {
      const backend = site instanceof BackendHandle ? site : null;
      backend?.admit();
      const finding = await site.read(name, signal);
      if (finding.kind !== 'good') return null;
      const sizeBytes = finding.blob.bytes.length;
      forgetBytes(finding.blob);
      // A copy that the backend may delete at any time is kept by the replicator, for which the content is queued.
      if ((await backend?.isKept(name, signal)) === false) return null;
      record(content(sizeBytes));
      return site.id;
    };
    const { sites, room } = this.#replication;
    const looks = [
      // An eviction that has taken the blob out of the books may be about to delete its bytes.
      () => room.withoutEviction(() => look(local, (one) => catalog.recordSpooled([one]))),
      ...sites.map((site) => () => look(site, (one) => catalog.replicas.recordFound(site.id, [one]))),
    ];
    const found: string[] = [];
    for (const lookThere of looks) {
      try {
        const place = await lookThere();
        if (place !== null) found.push(place);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
      }
    }
    // Content that is still withheld under another hash type is skipped.
    const customs = Object.entries(await this.#custom.adopt(null, name.versionHash, signal));
    return [...found, ...customs.filter(([, { adopted }]) => adopted > 0).map(([id]) => `${id} (custom)`)];
  }
}
