import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { LONGEST_SLEEP_MS, type Next, runLoop } from '../core/time/run-loop.ts';
import { ROW_LIMIT_BYTES } from '../storage/local/local-store.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { LocalCopies } from './local-copies.ts';

/** Pause between two looks whether an operator has deleted the file that was set aside. */
const LOOK_MS = 2_000;
const PAGE_ENTRIES = 256;

/**
 * Makes a new file of small blobs from a damaged one: rows that can be read are taken over, and the damaged file is set
 * aside. Then every small blob that the catalog claims is looked at: a missing one comes back from elsewhere.
 */
export class RowSalvage {
  readonly #local: LocalCopies;
  readonly #catalog: Catalog;
  readonly #damage: DamageWatch;
  readonly #conditions: ConditionBoard;

  constructor(local: LocalCopies, catalog: Catalog, damage: DamageWatch, conditions: ConditionBoard) {
    this.#local = local;
    this.#catalog = catalog;
    this.#damage = damage;
    this.#conditions = conditions;
  }

  async run(signal: AbortSignal): Promise<void> {
    // A crash may have come after the new file was made and before the rows that are gone were found.
    let mayClaimGone = this.#local.store.rowsSetAside.length > 0;
    const step = async (): Promise<Next> => {
      if (mayClaimGone)
        await this.#lookAtAll(signal, async (entry) => (await this.#local.store.stat(entry, signal)) !== null);
      mayClaimGone = false;
      await this.salvage(signal);
      return this.#local.store.rowsSetAside.length > 0 ? LOOK_MS : LONGEST_SLEEP_MS;
    };
    // A salvage that succeeds reports by itself which file is set aside.
    const tell = (error: unknown) => {
      if (error !== null) this.#conditions.setError('rows', error, false);
    };
    await runLoop('rows', step, { signal, backoff: BACKOFF.whole, wake: this.#local.store.rowsDamaged, tell });
  }

  /** Does nothing while the rows are healthy. Gives how many were taken over; null: there was nothing to do. */
  async salvage(signal: AbortSignal): Promise<number | null> {
    if (this.#local.store.damagedRows === null) {
      this.#tellWhatLies();
      return null;
    }
    this.#conditions.setError('rows', this.#local.store.damagedRows, false);
    const { taken } = await this.#local.store.salvageRows(signal);
    await this.#lookAtAll(signal, async (entry) => (await this.#local.examine(entry, signal)).kind === 'good');
    this.#tellWhatLies();
    return taken;
  }

  async #lookAtAll(signal: AbortSignal, isHere: (entry: ContentEntry) => Promise<boolean>): Promise<void> {
    for (let after = 0; ; ) {
      const page = this.#catalog.replicas.claimedAfter(this.#local.id, after, PAGE_ENTRIES);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.sequence;
      for (const entry of page) {
        if (entry.sizeBytes > ROW_LIMIT_BYTES) continue;
        if (!(await isHere(entry))) this.#damage.report(this.#local.id, entry);
      }
      await nextTurn();
      signal.throwIfAborted();
    }
  }

  #tellWhatLies(): void {
    const [file] = this.#local.store.rowsSetAside;
    this.#conditions.set(
      'rows',
      file === undefined
        ? null
        : {
            code: 'storage/damaged-database',
            message: `The file of small blobs was damaged. What could be read was taken over; the damaged file is ${file}.`,
            hint: 'What could not be read comes back from a backend or the node, and the status names what is left. See to the disk, run `holdfast check --read-data --repair`, then delete the damaged file.',
            blocksReadiness: false,
          },
    );
  }
}
