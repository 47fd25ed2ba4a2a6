import type { Catalog } from '../catalog/catalog.ts';
import { ArchiveError } from '../core/archive-errors.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import { mayBeOneFile, StorageError, storageFault } from '../storage/errors.ts';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { BackendHandle, CopyFinding } from './backend-handle.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';
import type { LocalCopies } from './local-copies.ts';

export interface BlobWriterModules {
  readonly local: LocalCopies;
  readonly room: DiskQuota;
  /** Backends that take this blob by their rules. */
  readonly sitesFor: (blob: VerifiedBlob) => readonly BackendHandle[];
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
  readonly clock: Clock;
}

/** Backends that take a blob by their rules. */
export function sitesTaking(sites: readonly BackendHandle[], { replicas }: Catalog) {
  return ({ versionHash, bytes }: VerifiedBlob) =>
    sites.filter(({ id }) => replicas.takes(id, { versionHash, sizeBytes: bytes.length }));
}

/** Never aborts. */
const UNSTOPPED = new AbortController().signal;

/** A local disk that refused nothing for so long is called healthy again. */
const WELL_AFTER_MS = 600_000;

/**
 * Makes a verified blob durable for the first time, in the local store. Where that has no room or refuses the blob, a
 * backend takes it directly, in both modes.
 */
export class BlobWriter {
  readonly #modules: BlobWriterModules;
  #refusedMs: number | null = null;

  constructor(modules: BlobWriterModules) {
    this.#modules = modules;
  }

  /**
   * Resolves with the name of the store that holds the blob durably; a copy outside the local store was read back. A blob that
   * no block has goes to no backend: `archive/no-room-for-unmined` where there is no room for it here. `archive/no-place`: the
   * local disk refuses the blob while it takes others, and no backend takes it.
   */
  async put(blob: VerifiedBlob, signal: AbortSignal, isUnmined = () => false): Promise<string> {
    const { local, room, sitesFor, damage } = this.#modules;
    let refusal: StorageError | null = null;
    try {
      const wasDamaged = damage.isDamaged(local.id, blob);
      if (await this.putHere(blob, signal)) {
        if (wasDamaged) await this.#readBack(blob, signal);
        if (room.isCache) damage.healed(local.id, blob);
        this.#tellNoMore();
        return local.id;
      }
    } catch (error) {
      signal.throwIfAborted();
      refusal = storageFault(local.id, 'put', error);
      this.#tell(refusal);
    }
    // The question comes this late because a block may have come while the disk was tried.
    const staysHere = room.knowsWhatIsMined() && isUnmined();
    if (staysHere && refusal === null) throw noRoomForUnmined(blob);
    const written = staysHere ? { by: null, refusal } : await this.#writeThrough(blob, signal);
    if (written.by !== null) {
      damage.healed(written.by, blob);
      return written.by;
    }
    if (refusal === null || refusal.code === 'storage/full') {
      throw noRoom(room.isCache, sitesFor(blob).length > 0, written.refusal ?? refusal);
    }
    if (mayBeOneFile(refusal) && (await local.store.isServing())) throw noPlace(blob, refusal);
    throw refusal;
  }

  /** Settles in the books a blob that was written here although the catalog held it already, or that was taken down meanwhile. */
  async enterAgain(name: ContentName, sizeBytes: number): Promise<void> {
    const { local, room } = this.#modules;
    await room.purgeAgain(name);
    await room.enterAgain(name, sizeBytes, async () => (await local.read(name, UNSTOPPED)).kind === 'good');
  }

  /** Deletes what a crash left here of a blob that a backend has taken. Never throws: the next start finds what the disk keeps. */
  async clearHere(name: ContentName): Promise<void> {
    const { room, conditions } = this.#modules;
    try {
      await room.deleteUncounted(name);
    } catch (error) {
      conditions.note('disk', `bytes that a crash left here were not deleted: ${messageOf(error)}`);
    }
  }

  /** Counts the bytes of the local store again, from the books: copies there were repaired. */
  async recount(): Promise<void> {
    await this.#modules.room.recount();
  }

  /** Ends what a refusal told, where the disk works again and no blob has come since that would show it. */
  async lookAgain(): Promise<void> {
    if (this.#refusedMs !== null && (await this.#modules.local.store.isServing())) this.#tellNoMore();
  }

  /** Does what `put` does, into the local store alone. false: there is no room. Throws the error of the disk. */
  async putHere(blob: VerifiedBlob, signal: AbortSignal): Promise<boolean> {
    const { local, room } = this.#modules;
    for (;;) {
      if (!(await room.claim(blob.bytes.length, signal))) return false;
      try {
        await local.keep(blob, signal);
        return true;
      } catch (error) {
        room.giveBack(blob.bytes.length);
        const isFull = error instanceof StorageError && error.code === 'storage/full';
        if (!isFull) throw error;
        if (!(await room.relieve(signal))) return false;
      } finally {
        room.settle(blob.bytes.length);
      }
    }
  }

  /** Reports whether `replaceHere` has room for the blob now. Older copies of a cache give way for it. */
  async hasRoomToReplace(name: ContentName, sizeBytes: number, signal: AbortSignal): Promise<boolean> {
    const countedBytes = (await this.#isCountedHere(name, signal)) ? sizeBytes : 0;
    return await this.#modules.room.makeRoom(sizeBytes, countedBytes, signal);
  }

  /**
   * Does what `putHere` does; a copy that is replaced in place has its room already, and keeps it when it is not replaced.
   * false as well: a purge came meanwhile, and the bytes are deleted again.
   */
  async replaceHere(blob: VerifiedBlob, signal: AbortSignal): Promise<boolean> {
    const { room } = this.#modules;
    const hasRoomAlready = await this.#isCountedHere(blob, signal);
    const sizeBytes = blob.bytes.length;
    if (hasRoomAlready) room.giveBack(sizeBytes);
    let isWritten = false;
    try {
      isWritten = await this.putHere(blob, signal);
    } finally {
      if (!isWritten && hasRoomAlready) room.takeBack(sizeBytes);
    }
    if (!isWritten || !(await room.purgeAgain(blob))) return isWritten;
    // The room of a copy that was there before is counted until the next count, as after every purge.
    if (!hasRoomAlready) room.giveBack(sizeBytes);
    return false;
  }

  /** Reports whether a cache counts bytes that lie here under this name, good or not. */
  async #isCountedHere(name: ContentName, signal: AbortSignal): Promise<boolean> {
    const { local, room } = this.#modules;
    return room.isCache && (await local.store.stat(name, signal).catch(() => null)) !== null;
  }

  /**
   * The disk lost this blob once, so it counts as held here only after a read. A disk that takes the file and never gives it
   * back would otherwise make the archiver fetch the blob from the node again and again.
   */
  async #readBack(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    const { local } = this.#modules;
    const finding = await local.examine(blob, signal);
    if (finding.kind === 'good') return;
    const error = finding.kind === 'damaged' ? finding.error : undefined;
    throw error ?? notGivenBack(blob, local.id);
  }

  #tell(refusal: StorageError): void {
    this.#refusedMs = this.#modules.clock.steadyMs();
    this.#modules.conditions.setError('local', refusal, false);
  }

  #tellNoMore(): void {
    if (this.#refusedMs === null || this.#modules.clock.steadyMs() - this.#refusedMs < WELL_AFTER_MS) return;
    this.#refusedMs = null;
    this.#modules.conditions.set('local', null);
  }

  async #writeThrough(blob: VerifiedBlob, signal: AbortSignal) {
    const { room, sitesFor } = this.#modules;
    const sites = sitesFor(blob);
    let refusal: unknown = null;
    // One that keeps what it acknowledged, before one that its power may take it from.
    for (const site of sites.toSorted((a, b) => a.durabilityDelayMs - b.durabilityDelayMs)) {
      // A backend that refuses to purge has the blob for long: no other one is to have it as well.
      if (room.isToBePurged(blob)) break;
      if (!site.mayBeAsked()) continue;
      try {
        if ((await this.#put(site, blob, signal)) !== 'good' || !(await site.isKept(blob, signal))) continue;
        if (room.isToBePurged(blob)) {
          // Purged while these bytes were on their way: the purge came before they did.
          await site.judged(() => site.store.purge(blob, signal), signal);
          // The take-down was revoked during this purge: the caller has the bytes, and writes them again.
          if (!room.isToBePurged(blob)) continue;
        }
        return { by: site.id, refusal: null };
      } catch (error) {
        signal.throwIfAborted();
        refusal = error;
      }
    }
    return { by: null, refusal };
  }

  /** Puts the blob. Other bytes under its name are read again on a fresh connection before they are replaced. */
  async #put(site: BackendHandle, blob: VerifiedBlob, signal: AbortSignal): Promise<CopyFinding['kind']> {
    const { store } = site;
    await site.judged(() => store.put(blob, 'create', signal), signal);
    const { kind } = await site.examine(blob, signal);
    if (kind !== 'damaged') return kind;
    await site.judged(() => store.put(blob, 'replace', signal), signal);
    return (await site.read(blob, signal)).kind;
  }
}

function notGivenBack({ versionHash }: VerifiedBlob, backend: string): StorageError {
  return new StorageError('storage/fault', `The local store took ${versionHash} and does not give it back whole.`, {
    details: { backend, operation: 'get', versionHash },
    retryable: true,
    hint: 'Look at the disk and the system log; the archiver tries again.',
  });
}

function noRoom(isCache: boolean, hasBackends: boolean, cause: unknown): StorageError {
  const here = isCache
    ? 'The local store is full of blobs that no backend holds yet'
    : 'The local store has no room left: the rest of its volume is reserved for the catalog';
  const says = hasBackends ? `${here}, and no backend takes another one.` : `${here}.`;
  return new StorageError('storage/full', says, {
    details: { backend: 'local', operation: 'put' },
    retryable: true,
    hint: 'Give the volume more room, or repair the backends that the status names; fetching goes on by itself then.',
    cause,
  });
}

function noPlace({ versionHash }: VerifiedBlob, refusal: StorageError): ArchiveError {
  return new ArchiveError('archive/no-place', `No place takes ${versionHash}: ${refusal.message}`, {
    details: { versionHash, code: refusal.code },
    retryable: true,
    hint: 'The other blobs go on, and this one is fetched again until its deadline. See to the disk, or add a backend that can take it.',
    cause: refusal,
  });
}

function noRoomForUnmined({ versionHash }: VerifiedBlob): ArchiveError {
  return new ArchiveError(
    'archive/no-room-for-unmined',
    `${versionHash} is in no block yet, and here is no room for it.`,
    {
      details: { versionHash },
      retryable: true,
      hint: 'It is tried again, and fetched first when a block has it. Give the volume more room, or the cache more bytes.',
    },
  );
}
