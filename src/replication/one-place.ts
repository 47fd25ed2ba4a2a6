import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { StorageError } from '../storage/errors.ts';
import { type MarkPath, type ObjectStore, readText } from '../storage/object-store.ts';
import type { BackendHandle } from './backend-handle.ts';

const PAGE_ENTRIES = 1_000;

/**
 * One bucket under two addresses is one place, and a copy there counts once. Of two such backends only one is used: the one
 * with more proven copies, else the first to be let in. Addresses do not tell: a mark that is written through one backend
 * and is found through another does.
 */
export class OnePlace {
  readonly #sites: readonly BackendHandle[];
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  /** One admission at a time: of two that come at one moment the second one sees the first. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(sites: readonly BackendHandle[], catalog: Catalog, conditions: ConditionBoard) {
    this.#sites = sites;
    this.#catalog = catalog;
    this.#conditions = conditions;
  }

  /**
   * Lets the backend in. `durabilityDelayMs`: milliseconds after an acknowledged write in which a power failure there can still
   * lose it. @throws StorageError `storage/same-place`, and what keeps the others from telling.
   */
  admit(site: BackendHandle, durabilityDelayMs: number, signal: AbortSignal): Promise<void> {
    const work = this.#turn.then(async () => {
      const other = await this.#twinOf(site, signal);
      site.twinOf = other?.id ?? null;
      if (other !== null) site.changes.notify();
      if (other === null) {
        this.#letIn(site, durabilityDelayMs);
        return;
      }
      const { replicas } = this.#catalog;
      // A copy proven through one address is not proven through the other: the one with more stays over restarts.
      if (replicas.goodCount(site.id) <= replicas.goodCount(other.id)) {
        await this.#discount(site, signal);
        throw samePlace(site.id, other.id);
      }
      site.twinOf = null;
      other.twinOf = site.id;
      other.isAdmitted = false;
      other.changes.notify();
      const refusal = samePlace(other.id, site.id);
      other.lastError = refusal;
      const { code, message, hint } = refusal;
      this.#conditions.set(`backend:${other.id}`, { code, message, hint, blocksReadiness: false });
      await this.#discount(other, signal);
      this.#letIn(site, durabilityDelayMs);
    });
    this.#turn = work.catch(() => {});
    return work;
  }

  #letIn(site: BackendHandle, durabilityDelayMs: number): void {
    site.durabilityDelayMs = durabilityDelayMs;
    this.#catalog.replicas.cached.recordDurabilityDelay(site.id, durabilityDelayMs);
    site.isAdmitted = true;
  }

  async #twinOf(site: BackendHandle, signal: AbortSignal): Promise<BackendHandle | null> {
    const others = this.#sites.filter((other) => other !== site && other.isAdmitted);
    const { store } = site;
    // A mark in a bucket and one in a Kubo have different names: neither place finds the other's, and waits for it.
    const isAlike = (other: BackendHandle) => other.store.properties.pins === store.properties.pins;
    const asked = others.filter((other) => holdsMarks(other.store) && isAlike(other));
    if (!holdsMarks(store) || asked.length === 0) return null;
    const path: MarkPath = `probe/place-${randomBytes(16).toString('hex')}`;
    await store.put({ path, text: path }, 'create', signal);
    try {
      for (const other of asked) if ((await this.#readMark(site, other, path, signal)) === path) return other;
      return null;
    } finally {
      // A bucket that permits no deletes keeps the mark, as it keeps the objects of a probe.
      await store.delete(path, signal).catch(() => signal.throwIfAborted());
    }
  }

  /** Reads the mark of this backend through another one. Where that one does not answer, the error names both. */
  async #readMark(site: BackendHandle, other: BackendHandle, path: MarkPath, signal: AbortSignal) {
    try {
      return await readText(other.store, path, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      throw notCompared(site.id, other.id, error);
    }
  }

  /** Discounts the copies that an earlier run, which did not know, proved through the second address. */
  async #discount(site: BackendHandle, signal: AbortSignal): Promise<void> {
    const { replicas } = this.#catalog;
    for (let after = 0; ; ) {
      signal.throwIfAborted();
      const page = replicas.goodAfter(site.id, after, PAGE_ENTRIES);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.sequence;
      replicas.recordUnproven(site.id, page);
      await turn();
    }
  }
}

function samePlace(backend: string, other: string): StorageError {
  return new StorageError(
    'storage/same-place',
    `The ${backend} store is the same place as ${other}, under another address: what is written to one is in both. Copies there count once, and ${backend} is not used.`,
    {
      details: { backend, other },
      retryable: false,
      hint: `Name another bucket, prefix or server for ${backend}, or leave it out and set HOLDFAST_REPLICAS_REQUIRED to what is left.`,
    },
  );
}

/** Until both are compared, one place could count as two. */
function notCompared(backend: string, other: string, cause: StorageError): StorageError {
  return new StorageError(
    cause.code,
    `The ${backend} store is not used yet: ${other}, which is in use, cannot tell now whether both are one place. ${cause.message}`,
    {
      details: { backend, other },
      retryable: true,
      hint: `Repair ${other}: ${backend} is used once ${other} answers. Or leave ${other} out of the settings, and restart.`,
      cause,
    },
  );
}

function holdsMarks({ properties }: ObjectStore): boolean {
  return properties.holds.has('mark');
}
