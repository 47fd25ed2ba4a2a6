import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { type ListedBlob, listBlobs, type ObjectStore } from '../storage/object-store.ts';
import { namesOf } from './reindex.ts';
import type { ListingComparison } from './scrub.ts';

/** Handles entries of the catalog and of the listing that contradict each other. */
export interface Contradictions {
  /** Asks by name for blobs that the catalog says are there, and that the listing does not name, or with another size. */
  askByName(doubtful: readonly ContentEntry[]): Promise<void>;
  /** Reads blobs that are recorded as lost, and that the listing names. Resolves to the number of those that are whole. */
  turnedUp(lost: readonly ListedBlob[]): Promise<number>;
}

/** Entries between two reports of progress. */
const PROGRESS_ENTRIES = 10_000;
const PAGE_ENTRIES = 1_000;

/**
 * Compares a backend's listing with the catalog, in both directions. Memory holds one bit for each content and one page
 * of doubtful ones, whatever the listing leaves out: ten million blobs cost 1.2 MiB. An entry that the catalog does not know
 * costs one look at the losses.
 */
export async function compareListing(
  store: Pick<ObjectStore, 'id' | 'list'>,
  catalog: Catalog,
  progress: (listed: number) => void,
  { askByName, turnedUp }: Contradictions,
  signal: AbortSignal,
): Promise<Omit<ListingComparison, 'missingRecords'>> {
  const seen = new SequenceSet(catalog.replicas.lastSequence());
  let listed = 0;
  let unknown = 0;
  const lost: ListedBlob[] = [];
  for await (const entry of listBlobs(store, signal)) {
    // A withheld blob is not checked here, whether it is purged or not.
    if (catalog.withheld.has('hashTypeUnsaid' in entry ? { ...entry, hashType: null } : entry)) continue;
    listed += 1;
    if (listed % PROGRESS_ENTRIES === 0) progress(listed);
    if (mark(store.id, entry, catalog, seen)) continue;
    unknown += 1;
    // Another archiver may have brought it here since.
    if (namesOf(entry).some((name) => catalog.losses.find(name) !== null)) lost.push(entry);
    if (lost.length >= PAGE_ENTRIES) unknown -= await turnedUp(lost.splice(0));
  }
  if (lost.length > 0) unknown -= await turnedUp(lost);
  progress(listed);
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const page = catalog.replicas.goodSequences(store.id, after, PAGE_ENTRIES);
    const last = page.at(-1);
    if (last === undefined) return { listed, unknown };
    after = last;
    // A blob that arrived while the listing was under way may be missing in it by right.
    const doubtful = page
      .filter((sequence) => seen.covers(sequence) && !seen.has(sequence))
      .flatMap((one) => catalog.replicas.at(one) ?? []);
    if (doubtful.length > 0) await askByName(doubtful);
    // The other work of this process has its turn between two pages.
    await turn();
  }
}

/** false: the catalog does not know that this backend has it. */
function mark(backend: string, entry: ListedBlob, catalog: Catalog, seen: SequenceSet): boolean {
  const known = catalog.replicas.known(backend, entry, 'hashTypeUnsaid' in entry);
  let isKnown = false;
  for (const { sequence, sizeBytes, state } of known) {
    isKnown ||= state !== null;
    if (entry.sizeBytes === null || entry.sizeBytes === sizeBytes) seen.add(sequence);
  }
  return isKnown;
}

class SequenceSet {
  readonly #last: number;
  readonly #bits: Uint8Array;

  constructor(last: number) {
    this.#last = last;
    this.#bits = new Uint8Array(Math.floor(last / 8) + 1);
  }

  covers(sequence: number): boolean {
    return sequence <= this.#last;
  }

  add(sequence: number): void {
    if (this.covers(sequence)) this.#bits[sequence >>> 3] = (this.#bits[sequence >>> 3] ?? 0) | (1 << (sequence & 7));
  }

  has(sequence: number): boolean {
    return ((this.#bits[sequence >>> 3] ?? 0) & (1 << (sequence & 7))) !== 0;
  }
}
