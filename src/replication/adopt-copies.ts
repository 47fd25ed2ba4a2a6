import type { Catalog } from '../catalog/catalog.ts';
import type { SpooledContent } from '../catalog/content-table.ts';
import { type ContentName, HASH_TYPES } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import { StorageError } from '../storage/errors.ts';
import { type ListedBlob, listBlobs } from '../storage/object-store.ts';
import { forgetBytes } from '../verify/verified-blob.ts';
import type { Site } from './site.ts';

export interface AdoptingModules {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Told as it goes on. */
  readonly progress: (adopted: Adopted) => void;
}

export interface Adopted {
  readonly adopted: number;
  /** ListedBlob there, and did not hash to their names: as if they were not there. */
  readonly damaged: number;
  /** ListedBlob there, and not given when they were asked for. */
  readonly unread: number;
}

const AT_A_TIME = 8;
const GROUP_ENTRIES = 128;
/** After so many that were not given, one after the other, it is looked whether the backend is there at all. */
const FAULTS_IN_A_ROW = 8;
/** More than this many are not remembered: the backend is begun anew. */
const MAX_UNREAD = 100_000;

/**
 * Every blob that a backend lists and the catalog does not know it to hold: fetched, hashed, and given its row. One that
 * the backend does not give goes into `unread`, and the others go on; what is in there already is passed over.
 */
export async function adoptCopies(
  site: Site,
  unread: Map<string, ListedBlob>,
  modules: AdoptingModules,
  signal: AbortSignal,
): Promise<Adopted> {
  const adopting = new Adopting(site, unread, modules, signal);
  return await adopting.all(listBlobs(site.store, signal), (entry) => unread.has(keyOf(entry)));
}

/** Tries again what could not be read; `unread` keeps what still cannot. */
export async function adoptUnread(
  site: Site,
  unread: Map<string, ListedBlob>,
  modules: AdoptingModules,
  signal: AbortSignal,
): Promise<Adopted> {
  return await new Adopting(site, unread, modules, signal).all([...unread.values()], () => false);
}

class Adopting {
  readonly #site: Site;
  readonly #unread: Map<string, ListedBlob>;
  readonly #modules: AdoptingModules;
  readonly #signal: AbortSignal;
  readonly #count = { adopted: 0, damaged: 0 };
  #group: SpooledContent[] = [];
  #faultsInARow = 0;
  /** What ends it: no fault of one blob does. */
  #failure: { readonly error: unknown } | null = null;

  constructor(site: Site, unread: Map<string, ListedBlob>, modules: AdoptingModules, signal: AbortSignal) {
    this.#site = site;
    this.#unread = unread;
    this.#modules = modules;
    this.#signal = signal;
  }

  async all(
    entries: Iterable<ListedBlob> | AsyncIterable<ListedBlob>,
    isPassedOver: (entry: ListedBlob) => boolean,
  ): Promise<Adopted> {
    const underWay = new Set<Promise<void>>();
    try {
      for await (const entry of entries) {
        this.#signal.throwIfAborted();
        this.#throwIfFailed();
        if (isPassedOver(entry) || this.#isKnown(entry) || this.#isWithheld(entry)) continue;
        // Nobody may be waiting when it fails, for the next page of the listing is: it is thrown where it is looked at.
        const work = this.#take(entry)
          .catch((error: unknown) => {
            this.#failure ??= { error };
          })
          .finally(() => underWay.delete(work));
        underWay.add(work);
        if (underWay.size >= AT_A_TIME) await Promise.race(underWay);
        if (this.#faultsInARow >= FAULTS_IN_A_ROW) await this.#expectAnswers();
      }
    } finally {
      await Promise.all(underWay);
      // What was read is kept also when the listing breaks off: it is not read again.
      this.#commit();
    }
    this.#throwIfFailed();
    return this.#told();
  }

  #throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  #isWithheld(entry: ListedBlob): boolean {
    return namesOf(entry).some((name) => this.#modules.catalog.withheld.has(name));
  }

  #isKnown(entry: ListedBlob): boolean {
    const isKnown = this.#modules.catalog.replicas
      .known(this.#site.id, entry, 'hashTypeUnsaid' in entry)
      .some(({ state }) => state === 'good');
    if (isKnown) this.#unread.delete(keyOf(entry));
    return isKnown;
  }

  async #take(entry: ListedBlob): Promise<void> {
    try {
      const found = await this.#firstProven(namesOf(entry));
      this.#faultsInARow = 0;
      this.#unread.delete(keyOf(entry));
      if (found === null) this.#count.damaged += 1;
      else {
        this.#count.adopted += 1;
        this.#group.push(found);
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof StorageError) || this.#unread.size >= MAX_UNREAD) throw error;
      this.#faultsInARow += 1;
      this.#unread.set(keyOf(entry), entry);
    }
    if (this.#group.length >= GROUP_ENTRIES) this.#commit();
  }

  /** Throws when the backend itself is away: a blob that it does not give is no reason to leave the others. */
  async #expectAnswers(): Promise<void> {
    const { store, lastError } = this.#site;
    const findings = await store.probe(this.#signal);
    if (findings.some(({ check, grade }) => check === 'reachable' && grade === 'fault'))
      throw lastError ?? away(store.id);
    this.#faultsInARow = 0;
  }

  async #firstProven(names: readonly ContentName[]): Promise<SpooledContent | null> {
    for (const name of names) {
      const finding = await this.#site.read(name, this.#signal);
      if (finding.kind !== 'good') continue;
      const sizeBytes = finding.blob.bytes.length;
      forgetBytes(finding.blob);
      const { hashType, versionHash } = name;
      const firstSeenMs = this.#modules.clock.wallMs();
      return { hashType, versionHash, sizeBytes, txid: null, medianTimeSeconds: null, firstSeenMs };
    }
    return null;
  }

  #commit(): void {
    this.#modules.catalog.replicas.recordFound(this.#site.id, this.#group);
    this.#group = [];
    this.#modules.progress(this.#told());
  }

  #told(): Adopted {
    return { ...this.#count, unread: this.#unread.size };
  }
}

function keyOf({ hashType, versionHash }: ListedBlob): string {
  return `${hashType}/${versionHash}`;
}

function namesOf(entry: ListedBlob): ContentName[] {
  const { versionHash } = entry;
  if (!('hashTypeUnsaid' in entry)) return [{ hashType: entry.hashType, versionHash }];
  return HASH_TYPES.map((hashType) => ({ hashType, versionHash }));
}

function away(backend: string): StorageError {
  return new StorageError('storage/unreachable', `The ${backend} store does not answer any more.`, {
    details: { backend },
    retryable: true,
    hint: 'Look at that server; what was read so far is kept, and the rest is read when it is back.',
  });
}
