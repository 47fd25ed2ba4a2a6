import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { SPOOL } from '../catalog/placement-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Activity } from '../view/activity.ts';

/** Copies that are told apart in memory; of more, the catalog alone knows which they are. */
const MAX_REMEMBERED = 10_000;

/** A copy that was read, and the number of reports before that. */
export interface ReadCopy<E> {
  readonly entry: E;
  readonly reports: number;
}

/** Records damaged or missing copies, queues them again, and keeps a condition set until they are good again. */
export class DamageWatch {
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  readonly #activity: Activity;
  /** The number of the report that said so last. */
  readonly #damaged = new Map<string, number>();
  readonly #backends: readonly string[];
  readonly #maxRemembered: number;
  /** Begins at 1, for 0 says that no report is forgotten. */
  #reports = 1;
  /** The latest report that is not remembered any more; 0: every damaged copy is. */
  #forgottenReport = 0;
  /** Names that were let in again, each with the number of the report that this counts as. */
  readonly #letIn = new Map<string, number>();
  /** Names that were let in until this report are not told apart any more. */
  #forgottenLetIn = 0;
  /** Since the start of the process, by backend. */
  readonly found = new Map<string, number>();
  readonly healedCopies = new Map<string, number>();

  /** `backends`: those that are configured; what was found damaged there before this process began is told again. */
  constructor(
    catalog: Catalog,
    conditions: ConditionBoard,
    activity: Activity,
    backends: readonly string[],
    maxRemembered = MAX_REMEMBERED,
  ) {
    this.#catalog = catalog;
    this.#conditions = conditions;
    this.#activity = activity;
    this.#backends = backends;
    this.#maxRemembered = maxRemembered;
    this.#remember();
    if (this.#damaged.size > 0) this.#tell(`${this.#count()} damaged copies are left from before.`);
  }

  /** false: it is not there by right. */
  report(backend: string, name: ContentName): boolean {
    // The search began before the blob was taken down or evicted.
    if (this.#catalog.withheld.has(name) || this.#isEvictedUnmined(name)) return false;
    if (this.#catalog.recordDamaged(backend, name) === 'not-replaced-by-rule') {
      this.#conditions.note(
        'damage',
        `The ${backend} copy of ${name.hashType} ${name.versionHash} counts no more: it is missing, cannot be read or does not hash to its name. It is not replaced, because the rule of that backend leaves the blob out.`,
      );
      return false;
    }
    this.found.set(backend, (this.found.get(backend) ?? 0) + 1);
    this.#reports += 1;
    this.#damaged.delete(keyOf(backend, name));
    this.#damaged.set(keyOf(backend, name), this.#reports);
    this.#forgetOldest();
    this.#tell(
      `The ${backend} copy of ${name.hashType} ${name.versionHash} is missing, cannot be read or does not hash to its name.`,
    );
    return true;
  }

  /**
   * The number of reports, of damage and of names that were let in again. Taken before a copy is read, it tells afterwards whether
   * a later report contradicts the reading.
   */
  get reports(): number {
    return this.#reports;
  }

  /**
   * Tells whether the copy was found damaged, or its name let in again, after so many reports. Then an earlier reading proves
   * nothing any more.
   */
  isReportedAfter(backend: string, name: ContentName, reports: number): boolean {
    const damaged = this.#damaged.get(keyOf(backend, name)) ?? this.#forgottenReport;
    const letIn = this.#letIn.get(keyOf('', name)) ?? this.#forgottenLetIn;
    return Math.max(damaged, letIn) > reports;
  }

  /** The copies whose reading no later report contradicts. */
  upheld<E extends ContentName>(backend: string, read: readonly ReadCopy<E>[]): E[] {
    return read
      .filter(({ entry, reports }) => !this.isReportedAfter(backend, entry, reports))
      .map(({ entry }) => entry);
  }

  /**
   * Runs a search for a good copy, and reports the bad ones that it met, where the catalog claimed them before and still
   * does. A backend may wait for its copy, and a cache may have evicted it. What came or was proven during the search is
   * newer than the look at its place.
   */
  async searched<S extends { readonly bad: readonly { readonly backend: string }[] }>(
    entry: ContentEntry,
    search: () => Promise<S>,
  ): Promise<S> {
    const before = this.#claims(entry);
    const result = await search();
    if (result.bad.length === 0) return result;
    const after = this.#claims(entry);
    for (const { backend } of result.bad) {
      const claim = before.get(backend);
      if (claim !== undefined && claim === after.get(backend)) this.report(backend, entry);
    }
    return result;
  }

  /** The backends of which the catalog says that they have the blob, each with the time of its proof. */
  #claims(entry: ContentEntry): ReadonlyMap<string, number | null> {
    const claimed = this.#catalog
      .placementsOf(entry)
      .filter(({ backend, state }) => state === 'good' || (backend === SPOOL && state === 'wanted'));
    return new Map(claimed.map(({ backend, verifiedMs }) => [backend, verifiedMs]));
  }

  /** Reports whether the catalog says that the copy there is damaged. */
  isDamaged(backend: string, { hashType, versionHash }: ContentName): boolean {
    if (this.#catalog.replicas.damagedCount(backend) === 0) return false;
    return this.#catalog
      .find(versionHash)
      .filter((entry) => entry.hashType === hashType)
      .some((entry) =>
        this.#catalog.placementsOf(entry).some((one) => one.backend === backend && one.state === 'damaged'),
      );
  }

  /**
   * Records copies that were read back as good, but for those that a later report contradicts: they are looked at again.
   * Gives how many were recorded.
   */
  recordProven(backend: string, proofs: readonly ReadCopy<ContentEntry>[]): number {
    const entries = this.upheld(backend, proofs);
    if (entries.length === 0) return 0;
    const stored = this.#catalog.recordProven(backend, entries);
    for (const entry of entries) this.healed(backend, entry);
    this.#activity.emit('proven', backend, entries);
    if (stored > 0) this.#activity.emit('stored', stored);
    return entries.length;
  }

  /** The backend is proven to hold it again. Another backend whose rule leaves it out had the last copy, and needs none now. */
  healed(backend: string, name: ContentName): void {
    if (this.#damaged.size === 0) return;
    const isHealed = this.#damaged.delete(keyOf(backend, name));
    if (isHealed) this.healedCopies.set(backend, (this.healedCopies.get(backend) ?? 0) + 1);
    const needless = this.#leftOutAt(name).filter((other) => this.#damaged.delete(keyOf(other, name)));
    if (isHealed || needless.length > 0) this.#tellWhatIsLeft();
  }

  #leftOutAt({ hashType, versionHash }: ContentName): string[] {
    const { replicas } = this.#catalog;
    if (this.#backends.every((backend) => replicas.ruleOf(backend) === null)) return [];
    const entries = this.#catalog.find(versionHash).filter((entry) => entry.hashType === hashType);
    return entries.flatMap((entry) => replicas.leftOutAt(entry));
  }

  /** Drops a blob that no place is to hold any more: it is not damaged, wherever it was. */
  forget(name: ContentName): void {
    const before = this.#damaged.size;
    for (const key of this.#damaged.keys()) if (key.endsWith(keyOf('', name))) this.#damaged.delete(key);
    if (this.#damaged.size !== before) this.#tellWhatIsLeft();
  }

  /** The last take-down of a blob has ended. What was read of it before may have been purged since, and proves nothing. */
  letIn(name: ContentName): void {
    if (this.#letIn.size >= this.#maxRemembered) {
      this.#letIn.clear();
      this.#forgottenLetIn = this.#reports;
    }
    this.#reports += 1;
    this.#letIn.set(keyOf('', name), this.#reports);
  }

  #tellWhatIsLeft(): void {
    if (this.#damaged.size === 0 && this.#forgottenReport > 0) this.#remember();
    if (this.#damaged.size === 0) this.#conditions.set('damage', null);
    else this.#tell(`${this.#count()} damaged copies are left.`);
  }

  #count(): string {
    return this.#forgottenReport === 0 ? String(this.#damaged.size) : `More than ${this.#damaged.size}`;
  }

  /** Reads the damaged copies from the catalog, as if each of them had been found just now. */
  #remember(): void {
    this.#forgottenReport = 0;
    for (const backend of this.#backends) {
      const room = this.#maxRemembered - this.#damaged.size;
      const damaged = this.#catalog.replicas.damaged(backend, room);
      for (const entry of damaged) this.#damaged.set(keyOf(backend, entry), this.#reports);
      if (damaged.length < this.#catalog.replicas.damagedCount(backend)) this.#forgottenReport = this.#reports;
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#damaged;
    if (this.#damaged.size <= this.#maxRemembered || oldest === undefined) return;
    const [key, report] = oldest;
    this.#damaged.delete(key);
    this.#forgottenReport = Math.max(this.#forgottenReport, report);
  }

  #isEvictedUnmined({ hashType, versionHash }: ContentName): boolean {
    const evictions = this.#catalog.unmined.evictions(versionHash);
    return evictions.some((one) => one.hashType === hashType && one.returnedMs === null);
  }

  #tell(message: string): void {
    this.#conditions.set('damage', {
      code: 'archive/damaged-copy',
      message,
      hint: 'It is served no more, and replaced from another copy or from the node while it has it. Look at that disk or server.',
      blocksReadiness: false,
    });
  }
}

function keyOf(backend: string, name: ContentName): string {
  return `${backend}/${name.hashType}/${name.versionHash}`;
}
