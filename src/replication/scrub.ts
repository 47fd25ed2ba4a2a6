import type { ReplicaLedger } from '../catalog/replica-ledger.ts';
import { messageOf } from '../core/blob/errors.ts';
import { StorageError } from '../storage/errors.ts';
import type { CopyFinding } from './backend-handle.ts';
import type { ReadCopy } from './damage-watch.ts';

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

/** The listing of a place compared with the catalog. */
export interface ListingComparison {
  readonly listed: number;
  /** Listed, and unknown to the catalog (or not known to be there). */
  readonly unknown: number;
  /** Occurrence records and evidence that it was given and has not got; they are queued to be written again. */
  readonly missingRecords: number;
}

export interface BackendFindings extends ListingComparison {
  readonly backend: string;
  /** Copies that were read and hashed. */
  readonly read: number;
  /** Whether this check went on where an earlier one of the same part was interrupted. */
  readonly isResumed: boolean;
  /** Copies that this check found missing; those found before and not repaired count in `left` of the report. */
  readonly missing: number;
  readonly damaged: number;
  /** The reason why the place could not be asked, or not to the end, or not for every copy. */
  readonly fault: string | null;
}

/** Findings of a reading. */
export interface ReadingFindings extends BackendFindings {
  /** Sequences of the copies that could not be looked at, and may be looked at again. */
  readonly unread: readonly number[];
}

type Counts = { -readonly [K in keyof Omit<BackendFindings, 'backend'>]: BackendFindings[K] };

const NOTHING_YET: Readonly<Counts> = {
  listed: 0,
  unknown: 0,
  missingRecords: 0,
  read: 0,
  isResumed: false,
  missing: 0,
  damaged: 0,
  fault: null,
};

/** The copies of one kind of object at one place, as the catalog knows them: all in which the check of one kind differs. */
export interface CheckedCopies<E extends { readonly sequence: number }> {
  readonly backend: string;
  /** Before the names by which the catalog keeps how far its readings came. */
  readonly prefix: '' | 'custom ';
  readonly goodCount: number;
  readonly damagedCount: number;
  /** Copies that the place is proven to hold, in the order of arrival. */
  goodAfter(after: number, limit: number): readonly E[];
  /** The one of these that arrived last; null: there is none. */
  readonly newestGood: E | null;
  /** `askByName`: for what the catalog says is there and the listing does not name, or with another size. */
  compare(
    told: (listed: number) => void,
    askByName: (doubtful: readonly E[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ListingComparison>;
  /** The state of the copy; one that seems bad is read again on a fresh connection before it is called so. */
  look(entry: E, signal: AbortSignal): Promise<CopyFinding['kind']>;
  /** Number of damage reports until now. */
  readonly reports: number;
  /** Records good copies in one commit, except those that a report since they were read contradicts. */
  recordGood(read: readonly ReadCopy<E>[]): void;
  /** false: it is not there by right. */
  recordBad(entry: E): boolean;
  /** The name of the copy in messages. */
  describe(entry: E): string;
}

const PAGE_ENTRIES = 256;
const AT_A_TIME = 8;
/** After so many faults of one page, and each time after as many more, it is looked whether the place gives another copy. */
const MAX_UNCLEAR = 24;
/** A check that was given up on Friday goes on on Monday, and no more a month later. */
const RESUMED_WITHIN_MS = 7 * 86_400_000;

/** A place that cannot be asked. */
export function nothingFound(backend: string, fault: string): BackendFindings {
  return { ...NOTHING_YET, backend, fault };
}

/** Looks whether what the catalog says of a place is so: by its listing, and by reading what it holds. */
export class Scrub<E extends { readonly sequence: number }> {
  readonly #copies: CheckedCopies<E>;
  readonly #progress: Pick<ReplicaLedger, 'progress' | 'recordProgress'>;

  /** `progress`: keeps how far readings came. */
  constructor(copies: CheckedCopies<E>, progress: Pick<ReplicaLedger, 'progress' | 'recordProgress'>) {
    this.#copies = copies;
    this.#progress = progress;
  }

  get backend(): string {
    return this.#copies.backend;
  }

  /** The listing first; then, with a subset, each copy of it is read and hashed. What is wrong is recorded. */
  async check(
    subset: Subset | null,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<BackendFindings> {
    const { backend } = this;
    const counts: Counts = { ...NOTHING_YET };
    try {
      const told = (done: number) => progress({ backend, step: 'listing', done, total: null });
      const askByName = async (doubtful: readonly E[]) => void (await this.#look(doubtful, counts, signal));
      Object.assign(counts, await this.#copies.compare(told, askByName, signal));
      if (subset !== null) await this.#readSubset(subset, counts, progress, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      counts.fault = messageOf(error);
    }
    return { backend, ...counts };
  }

  /** The next part of what it holds, after where the last one ended; begins again at the end. */
  async slice(parts: number, signal: AbortSignal): Promise<ReadingFindings> {
    const { backend, prefix, goodCount, damagedCount } = this.#copies;
    const purpose = `${prefix}daily`;
    const counts: Counts = { ...NOTHING_YET };
    const unread: number[] = [];
    // Damaged copies count as well: else each day that finds much would read less, and the round take longer.
    let left = Math.ceil((goodCount + damagedCount) / parts);
    while (left > 0) {
      const after = this.#progress.progress(backend, purpose);
      const page = this.#copies.goodAfter(after, Math.min(left, PAGE_ENTRIES));
      unread.push(...(await this.#look(page, counts, signal, unread.length)));
      this.#progress.recordProgress(backend, purpose, page.at(-1)?.sequence ?? 0);
      if (page.length === 0) break;
      left -= page.length;
    }
    return { backend, ...counts, unread };
  }

  /** Reads again the copies that a reading could not look at, except those that are known to be damaged by now. */
  async readAgain(sequences: readonly number[], signal: AbortSignal): Promise<ReadingFindings> {
    const { backend } = this;
    const counts: Counts = { ...NOTHING_YET };
    const unread: number[] = [];
    const entryOf = (wanted: number) =>
      this.#copies.goodAfter(wanted - 1, 1).filter(({ sequence }) => sequence === wanted);
    for (let from = 0; from < sequences.length; from += PAGE_ENTRIES) {
      const entries = sequences.slice(from, from + PAGE_ENTRIES).flatMap(entryOf);
      unread.push(...(await this.#look(entries, counts, signal, unread.length)));
    }
    return { backend, ...counts, unread };
  }

  async #readSubset(
    { index, of }: Subset,
    counts: Counts,
    progress: (progress: CheckProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { backend, prefix, goodCount } = this.#copies;
    const purpose = `${prefix}check ${index}/${of}`;
    // A check that was interrupted goes on where it was, unless what it read is old news.
    let after = this.#progress.progress(backend, purpose, RESUMED_WITHIN_MS);
    counts.isResumed = after > 0;
    // The copies behind the place where it goes on are not counted.
    const total = after > 0 ? null : Math.ceil(goodCount / of);
    let unread = 0;
    for (;;) {
      const page = this.#copies.goodAfter(after, PAGE_ENTRIES);
      const last = page.at(-1);
      if (last === undefined) break;
      const part = page.filter(({ sequence }) => sequence % of === index - 1);
      unread += (await this.#look(part, counts, signal, unread)).length;
      after = last.sequence;
      this.#progress.recordProgress(backend, purpose, after);
      progress({ backend, step: 'reading', done: counts.read, total });
    }
    this.#progress.recordProgress(backend, purpose, 0);
  }

  /**
   * Reads copies, some at a time, and records what they are. One that cannot be looked at holds up none behind it, while the
   * place gives others. Gives the sequences of those. `unreadBefore`: how many there were of them before, for people.
   */
  async #look(entries: readonly E[], counts: Counts, signal: AbortSignal, unreadBefore = 0): Promise<number[]> {
    const copies = this.#copies;
    const waiting = [...entries];
    const good: ReadCopy<E>[] = [];
    const unclear: { readonly entry: E; readonly error: StorageError }[] = [];
    /** A place that gives another copy just now is healthy: the copies that it does not give are passed over, and reported. */
    const giveAnother = async (error: StorageError) => {
      const passed = new Set(unclear.map(({ entry }) => entry.sequence));
      const newest = good.at(-1)?.entry ?? copies.newestGood;
      // The newest comes before the oldest: the rules of a bucket archive its oldest objects, many of them together.
      const other = [...(newest === null ? [] : [newest]), ...copies.goodAfter(0, passed.size + 1)].find(
        ({ sequence }) => !passed.has(sequence),
      );
      if (other === undefined) throw error;
      await copies.look(other, signal);
    };
    const look = async (entry: E) => {
      try {
        return await copies.look(entry, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        unclear.push({ entry, error });
        if (unclear.length % MAX_UNCLEAR === 0) await giveAnother(error);
        return 'unclear';
      }
    };
    const readSome = async () => {
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
        signal.throwIfAborted();
        const { reports } = copies;
        const kind = await look(entry);
        if (kind === 'unclear') continue;
        counts.read += 1;
        if (kind === 'good') good.push({ entry, reports });
        else if (copies.recordBad(entry)) counts[kind] += 1;
      }
    };
    // The others end with the copy that each is reading: what it was found to be is recorded as well.
    const work = () =>
      readSome().catch((error: unknown) => {
        waiting.length = 0;
        throw error;
      });
    try {
      for (const ended of await Promise.allSettled(Array.from({ length: AT_A_TIME }, work))) {
        if (ended.status === 'rejected') throw ended.reason;
      }
      const [first] = unclear;
      if (first !== undefined) {
        await giveAnother(first.error);
        const others = unreadBefore + unclear.length - 1;
        const which = `${copies.describe(first.entry)}${others === 0 ? '' : ` and ${others} other copies`}`;
        counts.fault = `${which} could not be looked at: ${first.error.message}`;
      }
      return unclear.map(({ entry }) => entry.sequence);
    } finally {
      if (good.length > 0) copies.recordGood(good);
    }
  }
}
