import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import { type ContentName, HASH_TYPES } from '../core/blob/ids.ts';
import { StorageError } from '../storage/errors.ts';
import { type ListedBlob, listBlobs, type ObjectStore } from '../storage/object-store.ts';
import type { AdoptedCustom } from './custom/adopt-custom.ts';
import type { CustomUpkeep } from './custom/custom-upkeep.ts';
import type { ReadCopy } from './damage-watch.ts';
import { noteRecordedFloor } from './recorded-floor.ts';

/** A place as a walk over all that lies there sees it: a backend, or the data folder. */
export interface ReindexedPlace {
  readonly store: Pick<ObjectStore, 'id' | 'properties' | 'list' | 'probe'>;
  /** Reports whether the blob need not be read again. */
  isKnown(entry: ListedBlob): boolean;
  /** Number of bytes under this name that hash to it; null: none do. */
  prove(name: ContentName, signal: AbortSignal): Promise<number | null>;
  /** The number of reports until now. */
  readonly reports: number;
  /** Records blobs that were proven there. Gives those that it recorded: a report since they were read contradicts the others. */
  record(found: readonly ReadCopy<SpooledContent>[]): readonly SpooledContent[];
}

export interface Adopted {
  readonly adopted: number;
  /** ListedBlob there, and did not hash to their names: as if they were not there. */
  readonly damaged: number;
  /** ListedBlob there, and not given when they were asked for. */
  readonly unread: number;
}

const AT_A_TIME = 8;
/** Proven blobs that share a commit; a crash before it costs reading them again. */
const GROUP_ENTRIES = 512;
/** After so many that were not given, one after the other, it is looked whether the place is there at all. */
const FAULTS_IN_A_ROW = 8;
/** More than this many are not remembered: the walk over the place begins again. */
const MAX_UNREAD = 100_000;

/**
 * Rebuilds the catalog from one place: every blob that is listed there and not known to be is read, hashed, and given its
 * row; so are custom bytes; and the lowest height of a record is noted. A blob that is not given goes into `unread`, and
 * the others go on. It lasts over several walks: blobs in `unread` are passed over, and `again` reads those alone.
 */
export class Reindex {
  readonly unread = new Map<string, ListedBlob>();
  readonly #place: ReindexedPlace;
  readonly #catalog: Catalog;
  readonly #upkeep: Pick<CustomUpkeep, 'adopt'>;
  readonly #told: (adopted: Adopted) => void;
  #customFault: string | null = null;

  /** `told` is called with the progress. */
  constructor(
    place: ReindexedPlace,
    catalog: Catalog,
    upkeep: Pick<CustomUpkeep, 'adopt'>,
    told: (adopted: Adopted) => void = () => {},
  ) {
    this.#place = place;
    this.#catalog = catalog;
    this.#upkeep = upkeep;
    this.#told = told;
  }

  get id(): string {
    return this.#place.store.id;
  }

  /** The reason why custom bytes there could not be read, or not all; null: they were. */
  get customFault(): string | null {
    return this.#customFault;
  }

  async blobs(signal: AbortSignal): Promise<Adopted> {
    const isPassedOver = (entry: ListedBlob) => this.unread.has(keyOf(entry));
    return await this.#walk(listBlobs(this.#place.store, signal), isPassedOver, signal);
  }

  /** Indexes the objects beside the blobs. Gives the custom bytes that were found, by place. */
  async others(signal: AbortSignal): Promise<Readonly<Record<string, AdoptedCustom>>> {
    const found = await this.#custom(signal);
    await noteRecordedFloor(this.#place.store, this.#catalog, signal);
    return found;
  }

  /** Indexes blobs that a listing of the place has named, and nothing else. */
  async listed(entries: readonly ListedBlob[], signal: AbortSignal): Promise<Adopted> {
    return await this.#walk(entries, () => false, signal);
  }

  /** Tries again what could not be read; `unread` keeps what still cannot. */
  async again(signal: AbortSignal): Promise<Adopted> {
    const found = await this.#walk([...this.unread.values()], () => false, signal);
    if (this.#customFault !== null) await this.#custom(signal);
    return found;
  }

  async #custom(signal: AbortSignal) {
    this.#customFault = null;
    return await this.#upkeep.adopt(this.id, null, signal, (_, why) => {
      this.#customFault = why;
    });
  }

  async #walk(
    entries: Iterable<ListedBlob> | AsyncIterable<ListedBlob>,
    isPassedOver: (entry: ListedBlob) => boolean,
    signal: AbortSignal,
  ): Promise<Adopted> {
    const catalog = this.#catalog;
    const count = { adopted: 0, damaged: 0 };
    let faultsInARow = 0;
    let group: ReadCopy<SpooledContent>[] = [];
    /** The failure that ends the walk; a fault of one blob does not. */
    let failure: { readonly error: unknown } | null = null;
    const told = (): Adopted => ({ ...count, unread: this.unread.size });
    const commit = () => {
      const recorded = new Set(this.#place.record(group));
      for (const { entry } of group) {
        if (recorded.has(entry)) continue;
        count.adopted -= 1;
        this.unread.set(keyOf(entry), entry);
      }
      group = [];
      this.#told(told());
    };
    const take = async (entry: ListedBlob) => {
      try {
        const { reports } = this.#place;
        const found = await this.#firstProven(namesOf(entry), signal);
        faultsInARow = 0;
        this.unread.delete(keyOf(entry));
        count[found === null ? 'damaged' : 'adopted'] += 1;
        if (found !== null) group.push({ entry: found, reports });
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError) || this.unread.size >= MAX_UNREAD) throw error;
        faultsInARow += 1;
        this.unread.set(keyOf(entry), entry);
        if (faultsInARow < FAULTS_IN_A_ROW) return;
        if (await this.#isAway(signal)) throw error;
        faultsInARow = 0;
      }
      if (group.length >= GROUP_ENTRIES) commit();
    };
    const underWay = new Set<Promise<void>>();
    try {
      for await (const entry of entries) {
        signal.throwIfAborted();
        if (failure !== null) break;
        if (isPassedOver(entry) || this.#isKnown(entry)) continue;
        if (namesOf(entry).some((name) => catalog.withheld.has(name))) {
          // The operator took it down since a listing could not read it: no walk waits for it any more.
          this.unread.delete(keyOf(entry));
          continue;
        }
        // The loop may be waiting for the next page of the listing when this fails: the error is thrown after the loop.
        const work = take(entry)
          .catch((error: unknown) => {
            failure ??= { error };
          })
          .finally(() => underWay.delete(work));
        underWay.add(work);
        if (underWay.size >= AT_A_TIME) await Promise.race(underWay);
      }
    } finally {
      await Promise.all(underWay);
      // Blobs that were read are recorded also when the listing breaks off: they are not read again.
      commit();
    }
    throwIfFailed(failure);
    return told();
  }

  #isKnown(entry: ListedBlob): boolean {
    const isKnown = this.#place.isKnown(entry);
    if (isKnown) this.unread.delete(keyOf(entry));
    return isKnown;
  }

  /** A blob that the place does not give is no reason to leave the others, while the place is there. */
  async #isAway(signal: AbortSignal): Promise<boolean> {
    const findings = await this.#place.store.probe(signal);
    return findings.some(({ check, grade }) => check === 'reachable' && grade === 'fault');
  }

  async #firstProven(names: readonly ContentName[], signal: AbortSignal): Promise<SpooledContent | null> {
    for (const { hashType, versionHash } of names) {
      const sizeBytes = await this.#place.prove({ hashType, versionHash }, signal);
      if (sizeBytes === null) continue;
      const firstSeenMs = this.#catalog.nowMs();
      return { hashType, versionHash, sizeBytes, txid: null, medianTimeSeconds: null, firstSeenMs };
    }
    return null;
  }
}

function throwIfFailed(failure: { readonly error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}

function keyOf({ hashType, versionHash }: ListedBlob): string {
  return `${hashType}/${versionHash}`;
}

/** The names that an entry of a listing may have: its place may not name the hash type. */
export function namesOf(entry: ListedBlob): ContentName[] {
  const { versionHash } = entry;
  if (!('hashTypeUnsaid' in entry)) return [{ hashType: entry.hashType, versionHash }];
  return HASH_TYPES.map((hashType) => ({ hashType, versionHash }));
}
