import type { Catalog } from '../../catalog/catalog.ts';
import { isPurge, isRevocation, withheldPath } from '../../catalog/withheld-document.ts';
import type { WithheldEntry } from '../../catalog/withheld-ledger.ts';
import type { ContentName } from '../../core/blob/ids.ts';
import type { BackendHandle } from '../../replication/backend-handle.ts';
import type { DamageWatch } from '../../replication/damage-watch.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { type WithheldRecordStore, withheldRecordsIn } from './withheld-records.ts';

export interface TakeDownSummary {
  readonly count: number;
  /** Archivers whose records are in force besides this archiver's own. */
  readonly others: readonly string[];
}

/** The take-downs that archivers record, taken over into the catalog: from then on the content is not served. */
export class WithheldSayings {
  readonly archiverId: string;
  readonly #catalog: Catalog;
  readonly #damage: Pick<DamageWatch, 'forget' | 'letIn'>;

  constructor(archiverId: string, catalog: Catalog, damage: Pick<DamageWatch, 'forget' | 'letIn'>) {
    this.archiverId = archiverId;
    this.#catalog = catalog;
    this.#damage = damage;
  }

  get summary(): TakeDownSummary {
    const { count, archivers } = this.#catalog.withheld.summary;
    return { count, others: archivers.filter((archiver) => archiver !== this.archiverId) };
  }

  /** Before a backend is used for the first time: nothing that may not lie there is put there. Throws `StorageError`. */
  async readFrom(site: BackendHandle, signal: AbortSignal): Promise<void> {
    const { store } = site;
    if (holdsEvidence(store)) this.recordNew(await this.saidBy(store, signal));
  }

  async saidBy(store: WithheldRecordStore, signal: AbortSignal): Promise<WithheldEntry[]> {
    const records = await withheldRecordsIn(store, signal);
    return records
      .filter(({ revokedAt, archiver, ...name }) => revokedAt === null && !this.#isRevokedHere(name, archiver))
      .map(({ hashType, versionHash, archiver, reason, publicReason, at }) => {
        const purge = archiver === this.archiverId && this.#isToBePurged({ hashType, versionHash });
        return { hashType, versionHash, archiver, reason, publicReason, atMs: Date.parse(at), purge };
      });
  }

  recordNew(said: readonly WithheldEntry[]): void {
    this.record(
      said.filter((entry) => !this.#isKnown(entry)),
      false,
    );
  }

  /** `evidence`: this archiver says it, and every backend is to get the record. */
  record(entries: readonly WithheldEntry[], evidence: boolean): void {
    this.#catalog.withheld.record(entries, evidence);
    for (const entry of entries) this.#damage.forget(entry);
  }

  /** Ends these take-downs. Returns the names that are no longer withheld: they are queued again, and no earlier reading counts. */
  revoke(entries: readonly WithheldEntry[], evidence: boolean, nowMs: number): ContentName[] {
    const letIn = this.#catalog.withheld.revoke(entries, evidence, nowMs);
    for (const name of letIn) this.#damage.letIn(name);
    return letIn;
  }

  /**
   * Ends the take-downs of other archivers that are in none of all the records that were read. Returns the names that are no
   * longer withheld.
   */
  endUnsaid(said: readonly WithheldEntry[], nowMs: number): ContentName[] {
    const keys = new Set(said.map(keyOf));
    const { withheld } = this.#catalog;
    const ended = withheld.list().filter((entry) => entry.archiver !== this.archiverId && !keys.has(keyOf(entry)));
    return this.revoke(ended, false, nowMs);
  }

  /**
   * The latest record of another archiver counts; this archiver's own entries come from the catalog, not from a
   * backend. A new catalog may learn of a purge only after it learned of the take-down.
   */
  #isKnown(entry: WithheldEntry): boolean {
    const known = this.#catalog.withheld.find(entry).find(({ archiver }) => archiver === entry.archiver);
    if (known === undefined) return false;
    if (entry.archiver === this.archiverId) return known.purge || !entry.purge;
    return known.reason === entry.reason && known.publicReason === entry.publicReason;
  }

  /**
   * This archiver's own record on a backend that has not got the revocation yet. A new catalog takes the record itself over,
   * perhaps before it is read here: one in force revokes nothing.
   */
  #isRevokedHere(name: ContentName, archiver: string): boolean {
    if (archiver !== this.archiverId) return false;
    return isRevocation(this.#catalog.evidence.find(withheldPath(name)));
  }

  /**
   * A purge is read from this archiver's own evidence alone, which a new catalog takes over from the data folder: a client
   * that can write to one backend cannot have the bytes of all the others deleted.
   */
  #isToBePurged(name: ContentName): boolean {
    return isPurge(this.#catalog.evidence.find(withheldPath(name)), name);
  }
}

/** Whether a store has names for the records of archivers. */
export function holdsEvidence({ properties }: ObjectStore): boolean {
  return properties.holds.has('evidence');
}

function keyOf({ hashType, versionHash, archiver }: WithheldEntry): string {
  return `${hashType}/${versionHash}/${archiver}`;
}
