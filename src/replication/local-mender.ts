import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
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

const GROUP_ENTRIES = 32;

/** Brings back what the local store should have and has not got, or not whole: from a backend's good copy. */
export class LocalMender {
  readonly #modules: LocalMenderModules;
  /** Copies were repaired since the local store was counted. */
  #isAnyMended = false;

  constructor(modules: LocalMenderModules) {
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, local, conditions } = this.#modules;
    const { replicas } = catalog;
    const step = async (): Promise<Next> => {
      const lookedMs = catalog.nowMs();
      return (await this.mendSome(signal)) ? 0 : replicas.idleMs(local.id, lookedMs);
    };
    // A copy that the disk does not give is noted by itself. A step fails as a whole where the catalog or the count does.
    await runLoop('repair', step, { signal, backoff: BACKOFF.local, wake: replicas.changes(local.id), conditions });
  }

  /** Looks whether a disk that refused blobs works again. */
  async lookAtDisk(): Promise<void> {
    await this.#modules.writer.lookAgain();
  }

  /** false: nothing is damaged that may be tried now. */
  async mendSome(signal: AbortSignal): Promise<boolean> {
    const { catalog, local, writer, damage } = this.#modules;
    const damaged = catalog.replicas.dueDamaged(local.id, GROUP_ENTRIES);
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
    }
    // The books count no damaged copy: what this process counted of it depends on when the damage was found. Each row of the cache
    // is read for a count: one count follows many repairs.
    if (this.#isAnyMended && damaged.length < GROUP_ENTRIES) {
      this.#isAnyMended = false;
      await writer.recount();
    }
    return damaged.length > 0;
  }

  /** null: the copy is repaired. A failure for one copy is no reason to leave the others. */
  async #tryToMend(entry: ContentEntry, signal: AbortSignal): Promise<{ code: string; message: string } | null> {
    try {
      if (await this.#mend(entry, signal)) return null;
      return { code: 'archive/no-good-copy', message: 'No other place has a good copy that can be read now.' };
    } catch (error) {
      signal.throwIfAborted();
      this.#modules.conditions.note('disk', `${entry.versionHash} cannot be repaired now: ${messageOf(error)}`);
      return { code: codeOf(error) ?? 'archive/unexpected', message: messageOf(error) };
    }
  }

  async #mend(entry: ContentEntry, signal: AbortSignal): Promise<boolean> {
    const { copies, writer, local, catalog, damage } = this.#modules;
    // A fault of the disk may have passed, or a fetch may have brought the blob again.
    if (await this.#isProven(entry, signal)) return true;
    const { found } = await damage.searched(entry, () => copies.find(entry, signal, local.id));
    // Taken down while it was searched for: nothing of it is written.
    if (found === null || catalog.withheld.has(entry)) return false;
    return (await writer.replaceHere(found.blob, signal)) && (await this.#isProven(entry, signal));
  }

  async #isProven(entry: ContentEntry, signal: AbortSignal): Promise<boolean> {
    return (await this.#modules.local.examine(entry, signal)).kind === 'good';
  }
}
