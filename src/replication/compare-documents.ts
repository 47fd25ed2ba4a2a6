import type { Catalog } from '../catalog/catalog.ts';
import { RECORDED_OCCURRENCES } from '../catalog/chain-index.ts';
import { HASH_TYPES, type HashType, type VersionHash } from '../core/blob/ids.ts';
import { listDocuments, type ObjectReader } from '../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../storage/record-path.ts';
import { occurrenceKey } from '../verify/occurrence-record.ts';
import { inStep } from './in-step.ts';

/** A document that a place was given. */
interface Given {
  readonly path: RecordPath;
  readonly requeue: () => void;
}

const PAGE = 500;

/**
 * Compares the occurrence records, and this archiver's evidence, that a place lists with those that it was given. A missing
 * document is queued to be written again. Gives how many are missing. `countsQueued`: counts the records that are queued
 * already as well, because no archive runs that would write them.
 */
export async function compareDocuments(
  store: ObjectReader,
  catalog: Catalog,
  { archiverId, countsQueued }: { readonly archiverId: string | null; readonly countsQueued: boolean },
  signal: AbortSignal,
): Promise<number> {
  let missing = 0;
  if (archiverId !== null) {
    const below = `audit/${archiverId}/`;
    missing += await countMissing(store, below, evidenceOf(catalog, store.id, below), signal);
  }
  for (const hashType of HASH_TYPES) {
    const records = recordsOf(catalog, store.id, hashType, countsQueued);
    missing += await countMissing(store, `occurrences/${hashType}/`, records, signal);
  }
  return missing;
}

async function countMissing(store: ObjectReader, below: string, given: Iterable<Given>, signal: AbortSignal) {
  let missing = 0;
  for await (const { wanted, listed } of inStep(
    given,
    listDocuments(store, below, signal),
    ({ path }) => path,
    'wanted',
  )) {
    // A listing may be late: only what the store answers it has not got is missing.
    if (wanted === null || listed !== null || (await store.get(wanted.path, signal)) !== null) continue;
    wanted.requeue();
    missing += 1;
  }
  return missing;
}

function* evidenceOf({ evidence }: Catalog, store: string, below: string): Generator<Given> {
  for (let after = ''; ; ) {
    const page = evidence.page(after, PAGE);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.path;
    for (const document of page) {
      if (!evidence.isDelivered(store, document)) continue;
      yield { path: parseRecordPath(below + document.path), requeue: () => evidence.requeue(store, document) };
    }
  }
}

function* recordsOf({ chain, records }: Catalog, store: string, hashType: HashType, countsQueued: boolean) {
  const { finalHeight } = chain.state;
  if (finalHeight === null) return;
  for (let after: VersionHash | null = null; ; ) {
    const page: VersionHash[] = records.recorded(hashType, after, PAGE);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last;
    for (const versionHash of page) {
      const given = chain
        .occurrences({ hashType, versionHash }, null, RECORDED_OCCURRENCES)
        .filter((one) => one.height <= finalHeight && (countsQueued || !records.isQueued(store, one)))
        .map((one) => {
          return { path: parseRecordPath(occurrenceKey(one)), requeue: () => records.requeue(store, [one]) };
        });
      yield* given.sort((a, b) => (a.path < b.path ? -1 : 1));
    }
  }
}
