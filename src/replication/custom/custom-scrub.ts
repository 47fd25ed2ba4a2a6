import type { Catalog } from '../../catalog/catalog.ts';
import type { CustomEntry, KeptCustom } from '../../catalog/custom-ledger.ts';
import { messageOf } from '../../core/blob/errors.ts';
import { StorageError } from '../../storage/errors.ts';
import { customPath, type ListedCustom } from '../../storage/object-store.ts';
import { inStep } from '../in-step.ts';
import type { CheckProgress, Subset } from '../scrub.ts';
import type { CustomPlace } from './custom-place.ts';

export interface CustomFindings {
  readonly backend: string;
  readonly listed: number;
  /** Listed, and unknown to the catalog. */
  readonly unknown: number;
  /** Copies that were read and hashed. */
  readonly read: number;
  /** Found by this check; what was found before and is not mended counts in `left` of the report. */
  readonly missing: number;
  readonly damaged: number;
  /** Why it could not be asked, or not to the end. */
  readonly fault: string | null;
}

type Counts = { -readonly [K in Exclude<keyof CustomFindings, 'backend' | 'fault'>]: number };

const PAGE_ENTRIES = 256;
const PURPOSE = 'custom daily';

export function nothingFound(backend: string, fault: string | null): CustomFindings {
  return { backend, listed: 0, unknown: 0, read: 0, missing: 0, damaged: 0, fault };
}

/** Looks whether what the catalog says of custom bytes at a place is so, as the scrub of blobs does. */
export class CustomScrub {
  readonly #catalog: Catalog;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The listing first; then, with a subset, each copy of it is read and hashed. What is wrong is recorded. */
  async check(
    place: CustomPlace,
    subset: Subset | null,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<CustomFindings> {
    const counts: Counts = { listed: 0, unknown: 0, read: 0, missing: 0, damaged: 0 };
    try {
      await this.#compareListing(place, counts, signal);
      if (subset !== null) await this.#readSubset(place, subset, counts, progress, signal);
      return { backend: place.id, ...counts, fault: null };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      return { backend: place.id, ...counts, fault: messageOf(error) };
    }
  }

  /** The next part of what it holds, after where the last one ended; begins anew at the end. */
  async slice(place: CustomPlace, parts: number, signal: AbortSignal): Promise<CustomFindings> {
    const { custom, replicas } = this.#catalog;
    const counts: Counts = { listed: 0, unknown: 0, read: 0, missing: 0, damaged: 0 };
    // What was found damaged counts as well: else each day that finds much would read less, and the round take longer.
    let left = Math.ceil((custom.goodCount(place.id) + custom.damagedCount(place.id)) / parts);
    while (left > 0) {
      const after = replicas.progress(place.id, PURPOSE);
      const page = custom.goodAfter(place.id, after, Math.min(left, PAGE_ENTRIES));
      await this.#look(place, page, counts, signal);
      replicas.recordProgress(place.id, PURPOSE, page.at(-1)?.sequence ?? 0);
      if (page.length === 0) break;
      left -= page.length;
    }
    return { backend: place.id, ...counts, fault: null };
  }

  /** Both come in the order of names, so that nothing but one page is held. */
  async #compareListing(place: CustomPlace, counts: Counts, signal: AbortSignal): Promise<void> {
    const { custom } = this.#catalog;
    const listed = this.#listed(place, counts, signal);
    for await (const { wanted: known, listed: entry } of inStep(this.#known(place), listed, customPath, 'all')) {
      if (known === null) counts.unknown += entry === null || custom.isKnown(entry) ? 0 : 1;
      // A listing may be late: only what the place answers it has not got is missing.
      else if (known.sizeBytes !== entry?.sizeBytes) await this.#look(place, [known], counts, signal);
    }
  }

  /** What the place is to list, in the order of names. */
  *#known({ id }: CustomPlace): Generator<KeptCustom> {
    for (let after: CustomEntry | null = null; ; ) {
      const page: KeptCustom[] = this.#catalog.custom.goodByName(id, after, PAGE_ENTRIES);
      if (page.length === 0) return;
      yield* page;
      after = page.at(-1) ?? null;
    }
  }

  async *#listed(place: CustomPlace, counts: Counts, signal: AbortSignal): AsyncGenerator<ListedCustom> {
    for await (const entry of place.list(null, signal)) {
      // Not purged, or not to be: nobody's business here.
      if (this.#catalog.withheld.has({ versionHash: entry.versionHash, hashType: null })) continue;
      counts.listed += 1;
      yield entry;
    }
  }

  async #readSubset(
    place: CustomPlace,
    { index, of }: Subset,
    counts: Counts,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { custom } = this.#catalog;
    const total = Math.ceil(custom.goodCount(place.id) / of);
    // They are few: a check that was interrupted begins anew, so that what it says is said of all of them.
    for (let after = 0; ; ) {
      const page = custom.goodAfter(place.id, after, PAGE_ENTRIES);
      const last = page.at(-1);
      if (last === undefined) break;
      const part = page.filter(({ sequence }) => sequence % of === index - 1);
      await this.#look(place, part, counts, signal);
      after = last.sequence;
      progress({ backend: place.id, step: 'reading', done: counts.read, total });
    }
  }

  async #look(place: CustomPlace, entries: readonly KeptCustom[], counts: Counts, signal: AbortSignal): Promise<void> {
    const { custom } = this.#catalog;
    for (const entry of entries) {
      signal.throwIfAborted();
      const { kind } = await place.look(entry, signal);
      counts.read += 1;
      if (kind === 'good') custom.record(entry, entry.sizeBytes, place.id);
      else {
        counts[kind] += 1;
        custom.recordDamaged(entry, place.id);
      }
    }
  }
}
