import type { EvictionSafety, HeldCopy } from '../catalog/cache-ledger.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { StorageError } from '../storage/errors.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { DamageWatch } from './damage-watch.ts';

export interface Confirmed {
  /** A backend said just now that it holds each of these. */
  readonly there: readonly HeldCopy[];
  /** Copies that are gone, or damaged: the catalog knows it now, and the replicator brings them again. */
  readonly bad: number;
  /** Backends that did not answer. */
  readonly silent: ReadonlySet<string>;
}

/** A backend that takes longer than this keeps the local copy: a write waits for the room. */
const ANSWER_MS = 5_000;
const AT_A_TIME = 8;

/**
 * Asks the backends once more before a local copy is deleted on their word. A backend that acknowledges before its disk
 * has the bytes is read whole, for its power may have failed since; any other is asked whether it has the blob.
 */
export class EvictionCheck {
  readonly #catalog: Catalog;
  readonly #sites: readonly BackendHandle[];
  readonly #damage: DamageWatch;

  constructor(catalog: Catalog, sites: readonly BackendHandle[], damage: DamageWatch) {
    this.#catalog = catalog;
    this.#sites = sites;
    this.#damage = damage;
  }

  /** Backends that are in use now. The word of any other is no reason to delete bytes. */
  answering(): string[] {
    return this.#sites.filter(({ isAdmitted, isLeftAlone }) => isAdmitted && !isLeftAlone).map(({ id }) => id);
  }

  /** Rejects only when the signal aborts. A backend that does not answer is asked no more for any of these. */
  async confirm(
    entries: readonly ContentEntry[],
    safety: EvictionSafety,
    backends: readonly string[],
    signal: AbortSignal,
  ): Promise<Confirmed> {
    const silent = new Set<string>();
    const there: HeldCopy[] = [];
    let bad = 0;
    const { cached } = this.#catalog.replicas;
    const confirmOne = async (entry: ContentEntry) => {
      for (const backend of cached.safeAt(entry, safety, backends)) {
        if (silent.has(backend)) continue;
        const found = await this.#look(backend, entry, safety, signal);
        if (found === 'good') {
          there.push({ entry, backend });
          return;
        }
        if (found === 'silent') silent.add(backend);
        else {
          this.#damage.report(backend, entry);
          // A backend of which the catalog claims it no more is not asked for it again.
          if (!cached.safeAt(entry, safety, [backend]).includes(backend)) bad += 1;
        }
      }
    };
    // The first alone: a backend that hangs is asked once, and not for eight blobs.
    const [first, ...others] = entries;
    if (first !== undefined) await confirmOne(first);
    const work = async () => {
      for (let entry = others.shift(); entry !== undefined; entry = others.shift()) await confirmOne(entry);
    };
    // Whole blobs one after the other, which bounds their memory.
    await Promise.all(Array.from({ length: safety === 'kept' ? AT_A_TIME : 1 }, work));
    return { there, bad, silent };
  }

  async #look(backend: string, entry: ContentEntry, safety: EvictionSafety, signal: AbortSignal) {
    const site = this.#sites.find(({ id }) => id === backend);
    if (site === undefined) return 'silent';
    try {
      site.admit();
      if (safety === 'kept' && (await this.#isListed(site, entry, signal))) return 'good';
      return await site.look(entry, signal);
    } catch {
      signal.throwIfAborted();
      return 'silent';
    }
  }

  /** Reports whether the backend says that it has and keeps a blob of this size. */
  async #isListed(site: BackendHandle, entry: ContentEntry, signal: AbortSignal): Promise<boolean> {
    const late = AbortSignal.timeout(ANSWER_MS);
    const ask = async () => {
      try {
        return await site.store.stat(entry, AbortSignal.any([signal, late]));
      } catch (error) {
        signal.throwIfAborted();
        throw late.aborted ? notAnswered(site, error) : error;
      }
    };
    return (await site.judged(ask, signal))?.sizeBytes === entry.sizeBytes;
  }
}

/**
 * A fault of the store, which is not probed before it is left alone: while it takes a probe and says nothing of its blobs,
 * each write would wait for it in turn.
 */
function notAnswered({ id, store }: BackendHandle, cause: unknown): StorageError {
  const { where } = store.properties;
  return new StorageError(
    'storage/unreachable',
    `The ${id} store at ${where} did not say within ${ANSWER_MS / 1_000} s whether it has a blob.`,
    {
      details: { backend: id, operation: 'stat', where },
      retryable: true,
      hint: 'Look at the load and the network of that server; nothing is evicted on its word until it answers.',
      cause,
    },
  );
}
