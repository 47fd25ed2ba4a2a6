import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { ListedBlob } from '../storage/object-store.ts';
import type { CatalogRebuild } from './catalog-rebuild.ts';
import { compareDocuments } from './compare-documents.ts';
import { compareListing } from './compare-listing.ts';
import type { DamageWatch, ReadCopy } from './damage-watch.ts';
import type { Holding } from './holding.ts';
import { type CheckedCopies, type ListingComparison, Scrub } from './scrub.ts';

export interface CheckedBlobsModules {
  readonly catalog: Catalog;
  readonly damage: DamageWatch;
  /** The archiver whose evidence is looked for; absent: no evidence is. */
  readonly archiverId?: string;
  /** Whether a running archive writes the records that are queued; absent: it does. */
  readonly replication?: { readonly isRunning: boolean };
  /** Indexes lost blobs that a listing names. Absent: they stay lost until a rebuild. */
  readonly catalogRebuild?: Pick<CatalogRebuild, 'adoptListed'>;
  /** Called for each copy that is missing or damaged. */
  readonly found?: (backend: string, entry: ContentEntry) => void;
}

/** The check of the blobs at this place, and by its listing also of the documents there. */
export function blobScrub(holding: Holding, modules: CheckedBlobsModules): Scrub<ContentEntry> {
  return new Scrub(new CheckedBlobs(holding, modules), modules.catalog.replicas);
}

class CheckedBlobs implements CheckedCopies<ContentEntry> {
  readonly backend: string;
  readonly prefix = '';
  readonly #holding: Holding;
  readonly #modules: CheckedBlobsModules;

  constructor(holding: Holding, modules: CheckedBlobsModules) {
    this.backend = holding.id;
    this.#holding = holding;
    this.#modules = modules;
  }

  get goodCount(): number {
    return this.#modules.catalog.replicas.goodCount(this.backend);
  }

  get damagedCount(): number {
    return this.#modules.catalog.replicas.damagedCount(this.backend);
  }

  get reports(): number {
    return this.#modules.damage.reports;
  }

  goodAfter(after: number, limit: number): ContentEntry[] {
    return this.#modules.catalog.replicas.goodAfter(this.backend, after, limit);
  }

  get newestGood(): ContentEntry | null {
    return this.#modules.catalog.replicas.newestGood(this.backend);
  }

  async compare(
    told: (listed: number) => void,
    askByName: (doubtful: readonly ContentEntry[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ListingComparison> {
    const { catalog, archiverId = null, replication, catalogRebuild } = this.#modules;
    const { store, records, bind } = this.#holding;
    await bind?.(signal);
    const turnedUp = async (lost: readonly ListedBlob[]) =>
      (await catalogRebuild?.adoptListed(this.backend, lost, signal)) ?? 0;
    const compared = await compareListing(store, catalog, told, { askByName, turnedUp }, signal);
    if (records === null) return { ...compared, missingRecords: 0 };
    const countsQueued = replication?.isRunning === false;
    return {
      ...compared,
      missingRecords: await compareDocuments(records, catalog, { archiverId, countsQueued }, signal),
    };
  }

  look(entry: ContentEntry, signal: AbortSignal) {
    return this.#holding.look(entry, signal);
  }

  recordGood(read: readonly ReadCopy<ContentEntry>[]): void {
    const { catalog, damage } = this.#modules;
    // Found to be the place of another backend meanwhile.
    if (!this.#holding.isAdmitted) return;
    const proven = damage.upheld(this.backend, read);
    if (proven.length > 0) catalog.recordProven(this.backend, proven);
  }

  recordBad(entry: ContentEntry): boolean {
    const isWrong = this.#modules.damage.report(this.backend, entry);
    if (isWrong) this.#modules.found?.(this.backend, entry);
    return isWrong;
  }

  describe({ hashType, versionHash }: ContentEntry): string {
    return `${hashType} ${versionHash}`;
  }
}
