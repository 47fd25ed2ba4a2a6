import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import { type ListedBlob, listBlobs } from '../storage/object-store.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { LocalCopies } from './local-copies.ts';

/**
 * Finds at the start the copies in a cache that the catalog does not know. A cache takes a copy out of the catalog first. A
 * crash may come before the bytes are deleted, or the disk may refuse to delete them. A copy is recorded again, and the
 * cache evicts it in its turn; one that is not good is reported as damaged, and repaired before. A blob that was
 * evicted for good is deleted. An unknown blob is left alone: a queued blob is taken over from there.
 */
export class OrphanSweep {
  readonly #local: LocalCopies;
  readonly #catalog: Catalog;
  readonly #room: DiskQuota;
  readonly #damage: DamageWatch;
  readonly #conditions: ConditionBoard;
  readonly #log: Logger;

  constructor(
    local: LocalCopies,
    catalog: Catalog,
    room: DiskQuota,
    damage: DamageWatch,
    conditions: ConditionBoard,
    log: Logger,
  ) {
    this.#local = local;
    this.#catalog = catalog;
    this.#room = room;
    this.#damage = damage;
    this.#conditions = conditions;
    this.#log = log;
  }

  /** Nothing else may write to the cache what is known already. Rejects never: a fault is told. */
  async run(signal: AbortSignal): Promise<void> {
    const [store, room, conditions, log] = [this.#local.store, this.#room, this.#conditions, this.#log];
    if (!room.isCache) return;
    let found = 0;
    try {
      for await (const entry of listBlobs(store, signal)) {
        if (await this.#settle(entry, signal)) found += 1;
      }
      if (found > 0) {
        // Copies that came back into the books may be more than the cache has room for.
        await room.claim(0, signal);
        await store.reclaim(signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      conditions.note('disk', `not all of the cache could be compared with the catalog: ${String(error)}`);
    }
    if (found > 0) log.info({ found }, 'copies that were in no books were found in the cache');
  }

  async #settle(listed: ListedBlob, signal: AbortSignal): Promise<boolean> {
    const known = this.#entryOf(listed);
    if (known !== null && this.#catalog.replicas.cached.has(known)) return false;
    // A copy that is being evicted is in no books either, until its bytes are deleted.
    return await this.#room.withoutEviction(() => this.#settleOrphan(listed, signal));
  }

  async #settleOrphan(listed: ListedBlob, signal: AbortSignal): Promise<boolean> {
    const [store, catalog, room] = [this.#local.store, this.#catalog, this.#room];
    const { hashType, versionHash } = listed;
    // A blob that is being imported or rescued is in the books next.
    if (catalog.arriving.has({ hashType, versionHash })) return false;
    const known = this.#entryOf(listed);
    if (known !== null) return await this.#takeBack(known, signal);
    const isEvictedUnmined = catalog.unmined
      .evictions(versionHash)
      .some((one) => one.hashType === hashType && one.returnedMs === null);
    if (!isEvictedUnmined || catalog.findQueued(versionHash) !== null) return false;
    await store.delete({ hashType, versionHash }, signal);
    room.freed();
    return true;
  }

  async #takeBack(entry: ContentEntry, signal: AbortSignal): Promise<boolean> {
    const [catalog, room] = [this.#catalog, this.#room];
    if (catalog.replicas.cached.has(entry)) return false;
    const { kind } = await this.#local.examine(entry, signal);
    // While the catalog is made again, the walk over the folder may have recorded it meanwhile.
    if (catalog.replicas.cached.has(entry)) return false;
    if (kind === 'missing') return false;
    // A damaged copy that is entered as a good one would take the blob out of the fetch queue for a moment.
    if (!catalog.replicas.cached.recordCached(entry, kind === 'damaged' ? 'damaged' : 'wanted')) return false;
    room.takeBack(entry.sizeBytes);
    if (kind === 'damaged') this.#damage.report(this.#local.id, entry);
    return true;
  }

  #entryOf({ hashType, versionHash }: ContentName): ContentEntry | null {
    return this.#catalog.find(versionHash).find((entry) => entry.hashType === hashType) ?? null;
  }
}
