import type { Catalog } from '../catalog/catalog.ts';
import { RECORDED_OCCURRENCES } from '../catalog/chain-index.ts';
import { HASH_TYPES, type VersionHash } from '../core/blob/ids.ts';
import { listDocuments, type ObjectStore, readText } from '../storage/object-store.ts';
import { parseRecordPath } from '../storage/record-path.ts';
import { occurrenceKey } from '../verify/occurrence-record.ts';

const PAGE_CONTENTS = 500;

/**
 * The occurrence records that a backend lists against those that it was given: what has left it is queued to be written
 * again. Both come in the order of version hashes, so that nothing but one page is held. Gives how many are missing.
 * `countsQueued`: also those that are queued already, because nobody runs who would write them.
 */
export async function compareRecords(
  store: ObjectStore,
  catalog: Catalog,
  countsQueued: boolean,
  signal: AbortSignal,
): Promise<number> {
  const { finalHeight } = catalog.chain.state;
  if (finalHeight === null) return 0;
  let missing = 0;
  for (const hashType of HASH_TYPES) {
    const listing = new RecordListing(store, `occurrences/${hashType}/`, signal);
    try {
      for (let after: VersionHash | null = null; ; ) {
        const page = catalog.records.recorded(hashType, after, PAGE_CONTENTS);
        const last = page.at(-1);
        if (last === undefined) break;
        after = last;
        for (const versionHash of page) {
          const listed = await listing.of(versionHash);
          const gone = catalog.chain
            .occurrences({ hashType, versionHash }, null, RECORDED_OCCURRENCES)
            .filter((one) => one.height <= finalHeight && !listed.has(occurrenceKey(one)))
            .filter((one) => countsQueued || !catalog.records.isQueued(store.id, one));
          for (const occurrence of gone) {
            // A listing may be late: only what the store answers it has not got is missing.
            if ((await readText(store, parseRecordPath(occurrenceKey(occurrence)), signal)) !== null) continue;
            catalog.records.requeue(store.id, [occurrence]);
            missing += 1;
          }
        }
      }
    } finally {
      await listing.end();
    }
  }
  return missing;
}

/** A listing in the order of version hashes, asked for one hash after the other. */
class RecordListing {
  readonly #entries: AsyncIterator<{ readonly path: string }>;
  #next: string | null = null;
  #isBegun = false;

  constructor(store: ObjectStore, prefix: string, signal: AbortSignal) {
    this.#entries = listDocuments(store, prefix, signal)[Symbol.asyncIterator]();
  }

  /** The paths of this content. Only ever asked for one that sorts behind the last. */
  async of(versionHash: VersionHash): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    if (!this.#isBegun) await this.#step();
    this.#isBegun = true;
    while (this.#next !== null && hashIn(this.#next) <= versionHash) {
      if (hashIn(this.#next) === versionHash) found.add(this.#next);
      await this.#step();
    }
    return found;
  }

  async end(): Promise<void> {
    await this.#entries.return?.();
  }

  async #step(): Promise<void> {
    const { done, value } = await this.#entries.next();
    this.#next = done === true ? null : value.path;
  }
}

/** `occurrences/<hash type>/<version hash>/…` */
function hashIn(path: string): string {
  return path.split('/')[2] ?? '';
}
