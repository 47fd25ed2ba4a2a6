import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { LocalCopies } from './local-copies.ts';

/** Bytes on their way into the cache; what is read beyond it is served and not kept. */
const MAX_BYTES_UNDER_WAY = 8_388_608;
/** Never aborts. */
const UNSTOPPED = new AbortController().signal;

/** Keeps what was read from a backend in the cache, so that it is near when it is asked for again. */
export class CacheFill {
  readonly #local: LocalCopies;
  readonly #room: DiskQuota;
  readonly #catalog: Catalog;
  readonly #conditions: ConditionBoard;
  readonly #underWay = new Map<number, Promise<void>>();
  #bytesUnderWay = 0;
  #signal: AbortSignal | null = null;

  constructor(local: LocalCopies, room: DiskQuota, catalog: Catalog, conditions: ConditionBoard) {
    this.#local = local;
    this.#room = room;
    this.#catalog = catalog;
    this.#conditions = conditions;
  }

  /** Takes what is offered until the signal aborts; resolves when nothing is under way any more. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.all(this.#underWay.values());
  }

  /** Never waits and never throws: the reader is served whether the blob is kept or not. */
  offer(entry: ContentEntry, blob: VerifiedBlob): void {
    const { sequence, sizeBytes } = entry;
    const signal = this.#signal;
    if (!this.#room.isCache || signal === null || signal.aborted || this.#underWay.has(sequence)) return;
    if (this.#bytesUnderWay + sizeBytes > MAX_BYTES_UNDER_WAY) return;
    this.#bytesUnderWay += sizeBytes;
    const work = this.#keep(entry, blob, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#conditions.note('disk', `a blob was not cached: ${messageOf(error)}`);
      })
      .finally(() => {
        this.#bytesUnderWay -= sizeBytes;
        this.#underWay.delete(sequence);
      });
    this.#underWay.set(sequence, work);
  }

  async #keep(entry: ContentEntry, blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    // A copy in the books has its room: it is here after all, or it is to be repaired in place.
    if (this.#catalog.replicas.cached.has(entry)) return;
    if (!(await this.#room.claimSpare(entry.sizeBytes, signal))) return;
    let isKept = false;
    try {
      await this.#local.store.put(blob, 'create', signal);
      // Bytes that are in no books may be deleted meanwhile: the look at them and their record are not to come apart.
      isKept = await this.#room.withoutEviction(() => this.#enter(entry));
    } finally {
      this.#room.settle(entry.sizeBytes);
      if (!isKept) this.#room.giveBack(entry.sizeBytes);
    }
  }

  /** Enters written bytes in the books, or deletes them: also during a stop, because nothing counts bytes that are in no books. */
  async #enter(entry: ContentEntry): Promise<boolean> {
    const { cached } = this.#catalog.replicas;
    const { kind } = await this.#local.read(entry, UNSTOPPED);
    if (kind === 'good' && cached.recordCached(entry)) return true;
    if (!cached.has(entry)) await this.#local.store.delete(entry, UNSTOPPED);
    return false;
  }
}
