import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';
import { LONGEST_SLEEP_MS, type Next, runLoop } from '../core/time/run-loop.ts';
import type { BlobWriter } from './blob-writer.ts';
import type { Copies } from './copies.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { LocalCopies } from './local-copies.ts';

export interface LocalMenderModules {
  readonly local: LocalCopies;
  readonly writer: BlobWriter;
  readonly copies: Copies;
  readonly catalog: Catalog;
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
}

interface Fault {
  readonly code: string;
  readonly message: string;
}

const GROUP_ENTRIES = 32;

const NO_GOOD_COPY: Fault = {
  code: 'archive/no-good-copy',
  message: 'No other place has a good copy that can be read now.',
};
const NO_ROOM: Fault = {
  code: 'storage/full',
  message: 'The local store has no room for this copy; it is fetched once there is room.',
};

/** Brings back what the local store should have and has not got, or not whole: from a backend's good copy. */
export class LocalMender {
  readonly #modules: LocalMenderModules;
  /** Copies were repaired since the local store was counted. */
  #isAnyMended = false;
  /** The last look found no room for a copy: nothing is fetched until a later look finds some. */
  #isFull = false;

  constructor(modules: LocalMenderModules) {
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, local, conditions } = this.#modules;
    const { replicas } = catalog;
    const step = async (): Promise<Next> => {
      const lookedMs = catalog.nowMs();
      if (await this.mendSome(signal)) return 0;
      return this.#isFull ? LONGEST_SLEEP_MS : replicas.idleMs(local.id, lookedMs);
    };
    // A copy that the disk does not give is noted by itself. A step fails as a whole where the catalog or the count does.
    await runLoop('repair', step, { signal, backoff: BACKOFF.local, wake: replicas.changes(local.id), conditions });
  }

  /** Looks whether a disk that refused blobs works again. */
  async lookAtDisk(): Promise<void> {
    await this.#modules.writer.lookAgain();
  }

  /** Tries each damaged copy that is due once. Those that were tried come after the others. */
  async mendDue(signal: AbortSignal): Promise<void> {
    const { catalog, local } = this.#modules;
    for (let left = catalog.replicas.damagedCount(local.id); left > 0; left -= GROUP_ENTRIES) {
      if (!(await this.mendSome(signal))) return;
    }
  }

  /** false: nothing is damaged that may be tried now, or here is no room for the next copy. */
  async mendSome(signal: AbortSignal): Promise<boolean> {
    const { catalog, local, writer, damage } = this.#modules;
    const damaged = catalog.replicas.dueDamaged(local.id, GROUP_ENTRIES);
    this.#isFull = false;
    for (const { entry, sequence, attempts } of damaged) {
      const fault = await this.#tryToMend(entry, signal);
      if (fault === null) {
        catalog.recordProven(local.id, [entry]);
        damage.healed(local.id, entry);
        this.#isAnyMended = true;
        continue;
      }
      const nextAttemptMs = catalog.nowMs() + backoffMs(BACKOFF.copy, attempts + 1);
      catalog.replicas.recordFailures(local.id, [{ sequence, ...fault, nextAttemptMs }]);
      this.#isFull = fault === NO_ROOM;
      if (this.#isFull) break;
    }
    // The books count no damaged copy: what this process counted of it depends on when the damage was found. Each row of the cache
    // is read for a count: one count follows many repairs.
    if (this.#isAnyMended && (this.#isFull || damaged.length < GROUP_ENTRIES)) {
      this.#isAnyMended = false;
      await writer.recount();
    }
    return damaged.length > 0 && !this.#isFull;
  }

  /** null: the copy is repaired. A failure for one copy is no reason to leave the others. */
  async #tryToMend(entry: ContentEntry, signal: AbortSignal): Promise<Fault | null> {
    try {
      return await this.#mend(entry, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#modules.conditions.note('disk', `${entry.versionHash} cannot be repaired now: ${messageOf(error)}`);
      return { code: codeOf(error) ?? 'archive/unexpected', message: messageOf(error) };
    }
  }

  async #mend(entry: ContentEntry, signal: AbortSignal): Promise<Fault | null> {
    const { copies, writer, local, catalog, damage } = this.#modules;
    // A fault of the disk may have passed, or a fetch may have brought the blob again.
    if (await this.#isProven(entry, signal)) return null;
    // Before the download: a backend charges for each, and a full disk takes none.
    if (!(await writer.hasRoomToReplace(entry, entry.sizeBytes, signal))) return NO_ROOM;
    const { found } = await damage.searched(entry, () => copies.find(entry, signal, local.id));
    // Taken down while it was searched for: nothing of it is written.
    if (found === null || catalog.withheld.has(entry)) return NO_GOOD_COPY;
    if (!(await writer.replaceHere(found.blob, signal))) return catalog.withheld.has(entry) ? NO_GOOD_COPY : NO_ROOM;
    return (await this.#isProven(entry, signal)) ? null : NO_GOOD_COPY;
  }

  async #isProven(entry: ContentEntry, signal: AbortSignal): Promise<boolean> {
    return (await this.#modules.local.examine(entry, signal)).kind === 'good';
  }
}
