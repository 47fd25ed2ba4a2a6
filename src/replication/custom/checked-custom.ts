import type { Catalog } from '../../catalog/catalog.ts';
import type { CustomEntry, KeptCustom } from '../../catalog/custom-ledger.ts';
import { customPath } from '../../storage/object-store.ts';
import { inStep } from '../in-step.ts';
import { type CheckedCopies, type ListingComparison, Scrub } from '../scrub.ts';
import type { CustomPlace } from './custom-place.ts';

const PAGE_ENTRIES = 256;

/** The check of the custom bytes at this place. */
export function customScrub(place: CustomPlace, catalog: Catalog): Scrub<KeptCustom> {
  return new Scrub(new CheckedCustom(place, catalog), catalog.replicas);
}

class CheckedCustom implements CheckedCopies<KeptCustom> {
  readonly backend: string;
  readonly prefix = 'custom ';
  readonly reports = 0;
  readonly #place: CustomPlace;
  readonly #catalog: Catalog;

  constructor(place: CustomPlace, catalog: Catalog) {
    this.backend = place.id;
    this.#place = place;
    this.#catalog = catalog;
  }

  get goodCount(): number {
    return this.#catalog.custom.goodCount(this.backend);
  }

  get damagedCount(): number {
    return this.#catalog.custom.damagedCount(this.backend);
  }

  goodAfter(after: number, limit: number): KeptCustom[] {
    return this.#catalog.custom.goodAfter(this.backend, after, limit);
  }

  get newestGood(): KeptCustom | null {
    return this.#catalog.custom.newestGood(this.backend);
  }

  /** Both come in the order of names, so that nothing but one page is held. */
  async compare(
    _told: (listed: number) => void,
    askByName: (doubtful: readonly KeptCustom[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ListingComparison> {
    const { custom, withheld } = this.#catalog;
    let [listed, unknown] = [0, 0];
    const all = this.#place.list(null, signal);
    for await (const { wanted: known, listed: entry } of inStep(this.#known(), all, customPath, 'all')) {
      // A withheld content is not checked here, whether it is purged or not.
      if (entry !== null && withheld.has({ versionHash: entry.versionHash, hashType: null })) continue;
      listed += entry === null ? 0 : 1;
      if (known === null) unknown += entry === null || custom.isKnown(entry) ? 0 : 1;
      // A listing may be late: only what the place answers it has not got is missing.
      else if (known.sizeBytes !== entry?.sizeBytes) await askByName([known]);
    }
    return { listed, unknown, missingRecords: 0 };
  }

  /** The entries that the place is to list, in the order of names. */
  *#known(): Generator<KeptCustom, void, undefined> {
    for (let after: CustomEntry | null = null; ; ) {
      const page: KeptCustom[] = this.#catalog.custom.goodByName(this.backend, after, PAGE_ENTRIES);
      if (page.length === 0) return;
      yield* page;
      after = page.at(-1) ?? null;
    }
  }

  /** Good is recorded at once: no number tells later whether another check has found it damaged since it was read. */
  async look(entry: KeptCustom, signal: AbortSignal) {
    const { kind } = await this.#place.look(entry, signal);
    if (kind === 'good') this.#catalog.custom.record(entry, entry.sizeBytes, this.backend);
    return kind;
  }

  recordGood(): void {}

  recordBad(entry: KeptCustom): boolean {
    this.#catalog.custom.recordDamaged(entry, this.backend);
    return true;
  }

  describe(entry: KeptCustom): string {
    return customPath(entry);
  }
}
