import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { messageOf } from '../core/blob/errors.ts';
import { StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { compareDocuments } from './compare-documents.ts';
import { compareListing } from './compare-listing.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { Holding } from './holding.ts';

/** A part of everything: the `index`-th of `of` equal ones, counted from 1. */
export interface Subset {
  readonly index: number;
  readonly of: number;
}

export interface CheckProgress {
  readonly backend: string;
  readonly step: 'listing' | 'reading';
  readonly done: number;
  /** null: not known before. */
  readonly total: number | null;
}

export interface BackendFindings {
  readonly backend: string;
  readonly listed: number;
  readonly unknown: number;
  /** Copies that were read and hashed. */
  readonly read: number;
  /** What comes before these was read by a check of this part that was interrupted lately. */
  readonly isResumed: boolean;
  /** Found by this check; what was found before and is not mended counts in `left` of the report. */
  readonly missing: number;
  readonly damaged: number;
  /** Occurrence records and evidence that it was given and has not got; they are queued to be written again. */
  readonly missingRecords: number;
  /** Why it could not be asked, or not to the end, or not for every copy. */
  readonly fault: string | null;
}

interface Counts {
  listed: number;
  unknown: number;
  read: number;
  missing: number;
  damaged: number;
  missingRecords: number;
  isResumed: boolean;
  /** Why copies could not be looked at; the last of them. */
  fault: string | null;
}

const NOTHING_YET: Readonly<Counts> = {
  listed: 0,
  unknown: 0,
  read: 0,
  missing: 0,
  damaged: 0,
  missingRecords: 0,
  isResumed: false,
  fault: null,
};

export interface ScrubModules {
  readonly catalog: Catalog;
  readonly damage: DamageWatch;
  /** Whose evidence is looked for; absent: nobody's. */
  readonly archiverId?: string;
  /** Whether anybody writes the records that are queued; absent: somebody does. */
  readonly replication?: { readonly isRunning: boolean };
  /** Told of each copy that is missing or damaged. */
  readonly found?: (backend: string, entry: ContentEntry) => void;
}

const PAGE_ENTRIES = 256;
const AT_A_TIME = 8;
/** After so many faults of one page it is the place that does not answer, and no single copy. */
const MAX_UNCLEAR = 24;
/** A check that was given up on Friday goes on on Monday, and no more a month later. */
const RESUMED_WITHIN_MS = 7 * 86_400_000;

/** Looks whether what the catalog says of a place is so: by its listing, and by reading what it holds. */
export class Scrub {
  readonly #modules: ScrubModules;

  constructor(modules: ScrubModules) {
    this.#modules = modules;
  }

  /** The listing first; then, with a subset, each copy of it is read and hashed. What is wrong is recorded. */
  async check(
    holding: Holding,
    subset: Subset | null,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<BackendFindings> {
    const counts: Counts = { ...NOTHING_YET };
    try {
      await holding.bind?.(signal);
      const told = (done: number) => progress({ backend: holding.id, step: 'listing', done, total: null });
      const askByName = (doubtful: readonly ContentEntry[]) => this.#look(holding, doubtful, counts, signal);
      const compared = await compareListing(holding.store, this.#modules.catalog, told, askByName, signal);
      Object.assign(counts, compared);
      if (holding.records !== null) counts.missingRecords = await this.#missingRecords(holding.records, signal);
      if (subset !== null) await this.#readSubset(holding, subset, counts, progress, signal);
      return { backend: holding.id, ...counts };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      return { backend: holding.id, ...counts, fault: messageOf(error) };
    }
  }

  async #missingRecords(records: ObjectStore, signal: AbortSignal): Promise<number> {
    const { catalog, archiverId = null, replication } = this.#modules;
    const countsQueued = replication?.isRunning === false;
    return await compareDocuments(records, catalog, { archiverId, countsQueued }, signal);
  }

  /** The next part of what it holds, after where the last one ended; begins anew at the end. */
  async slice(holding: Holding, parts: number, signal: AbortSignal): Promise<BackendFindings> {
    const { replicas } = this.#modules.catalog;
    const counts: Counts = { ...NOTHING_YET };
    // What was found damaged counts as well: else each day that finds much would read less, and the round take longer.
    let left = Math.ceil((replicas.goodCount(holding.id) + replicas.damagedCount(holding.id)) / parts);
    while (left > 0) {
      const page = replicas.goodAfter(holding.id, replicas.progress(holding.id, 'daily'), Math.min(left, PAGE_ENTRIES));
      await this.#look(holding, page, counts, signal);
      replicas.recordProgress(holding.id, 'daily', page.at(-1)?.sequence ?? 0);
      if (page.length === 0) break;
      left -= page.length;
    }
    return { backend: holding.id, ...counts };
  }

  async #readSubset(
    holding: Holding,
    { index, of }: Subset,
    counts: Counts,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { replicas } = this.#modules.catalog;
    const purpose = `check ${index}/${of}`;
    const total = Math.ceil(replicas.goodCount(holding.id) / of);
    // A check that was interrupted goes on where it was, unless what it read is old news.
    let after = replicas.progress(holding.id, purpose, RESUMED_WITHIN_MS);
    counts.isResumed = after > 0;
    for (;;) {
      const page = replicas.goodAfter(holding.id, after, PAGE_ENTRIES);
      const last = page.at(-1);
      if (last === undefined) break;
      await this.#look(
        holding,
        page.filter(({ sequence }) => sequence % of === index - 1),
        counts,
        signal,
      );
      after = last.sequence;
      replicas.recordProgress(holding.id, purpose, after);
      progress({ backend: holding.id, step: 'reading', done: counts.read, total });
    }
    replicas.recordProgress(holding.id, purpose, 0);
  }

  /** Reads copies, some at a time, and records what they are. One that cannot be looked at holds up none behind it. */
  async #look(holding: Holding, entries: readonly ContentEntry[], counts: Counts, signal: AbortSignal): Promise<void> {
    const { catalog, damage, found } = this.#modules;
    const waiting = [...entries];
    const unclear: { readonly entry: ContentEntry; readonly error: StorageError }[] = [];
    const look = async (entry: ContentEntry) => {
      try {
        return await holding.look(entry, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        unclear.push({ entry, error });
        if (unclear.length >= MAX_UNCLEAR) throw error;
        return 'unclear';
      }
    };
    const good: { readonly entry: ContentEntry; readonly reports: number }[] = [];
    const work = async () => {
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
        signal.throwIfAborted();
        const { reports } = damage;
        const kind = await look(entry);
        if (kind === 'unclear') continue;
        counts.read += 1;
        if (kind === 'good') good.push({ entry, reports });
        else if (damage.report(holding.id, entry)) {
          counts[kind] += 1;
          found?.(holding.id, entry);
        }
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_A_TIME }, work));
      const [first] = unclear;
      if (first !== undefined) {
        const passed = new Set(unclear.map(({ entry }) => entry.sequence));
        const other = good.at(-1)?.entry ?? catalog.replicas.newestGood(holding.id);
        // A place that gives something else just now is well: what it does not give is passed over, and told.
        if (other === null || passed.has(other.sequence)) throw first.error;
        await holding.look(other, signal);
        counts.fault = `${first.entry.hashType} ${first.entry.versionHash} could not be looked at: ${first.error.message}`;
      }
    } finally {
      // Somebody else may have found it damaged since it was read here.
      const proven = good.filter(({ entry, reports }) => !damage.isReportedAfter(holding.id, entry, reports));
      if (proven.length > 0) {
        catalog.recordProven(
          holding.id,
          proven.map(({ entry }) => entry),
        );
      }
    }
  }
}
