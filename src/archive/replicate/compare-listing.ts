import type { ContentName } from '../../blob/ids.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { ContentEntry } from '../../catalog/content-table.ts';
import type { BlobStore, StoredEntry } from '../../storage/blob-store.ts';

export interface ListingComparison {
  /** Blobs that the backend lists. */
  readonly listed: number;
  /** Listed, and unknown to the catalog (or not known to be there). */
  readonly unknown: number;
  /** The catalog says it is there; the listing does not name it, or with another size. To be asked for by name. */
  readonly doubtful: readonly ContentEntry[];
}

/** Told every so many entries. */
const PROGRESS_ENTRIES = 10_000;
const PAGE_ENTRIES = 1_000;
/** Of more than this many, the rest is found by the next check: nobody reads a longer list. */
const MOST_DOUBTFUL = 1_000_000;

/**
 * A backend's listing against the catalog, and the catalog against the listing. One bit a content is held in memory, so
 * that millions of them cost a few MiB.
 */
export async function compareListing(
  store: BlobStore,
  catalog: Catalog,
  progress: (listed: number) => void,
  signal: AbortSignal,
): Promise<ListingComparison> {
  const seen = new SequenceSet(catalog.replicas.lastSequence());
  let listed = 0;
  let unknown = 0;
  for await (const entry of store.names?.(signal) ?? store.list(signal)) {
    // Not purged, or not to be: nobody's business here.
    if (catalog.withheld.has('hashTypeUnsaid' in entry ? { ...entry, hashType: null } : entry)) continue;
    listed += 1;
    if (listed % PROGRESS_ENTRIES === 0) progress(listed);
    if (!mark(store.id, entry, catalog, seen)) unknown += 1;
  }
  progress(listed);
  const doubtful: ContentEntry[] = [];
  for (let after = 0; doubtful.length < MOST_DOUBTFUL; ) {
    signal.throwIfAborted();
    const page = catalog.replicas.goodSequences(store.id, after, PAGE_ENTRIES);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last;
    // What arrived while the listing was under way may be missing in it by right.
    doubtful.push(
      ...page
        .filter((sequence) => seen.covers(sequence) && !seen.has(sequence))
        .flatMap((one) => catalog.replicas.at(one) ?? []),
    );
  }
  return { listed, unknown, doubtful };
}

/** false: the catalog does not know that this backend has it. */
function mark(backend: string, entry: StoredEntry | ContentName, catalog: Catalog, seen: SequenceSet): boolean {
  const known = catalog.replicas.known(backend, entry, 'hashTypeUnsaid' in entry);
  let isKnown = false;
  for (const { sequence, sizeBytes, state } of known) {
    isKnown ||= state !== null;
    if (!('sizeBytes' in entry) || entry.sizeBytes === sizeBytes) seen.add(sequence);
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
