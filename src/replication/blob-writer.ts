import type { Catalog } from '../catalog/catalog.ts';
import { ArchiveError } from '../core/archive-errors.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import { mayBeOneFile, StorageError, storageFault } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule, VerifiedBlob } from '../verify/verified-blob.ts';
import type { BackendHandle, CopyFinding } from './backend-handle.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { DiskQuota } from './disk-quota.ts';
import { examineLocal } from './local-copy.ts';

export interface BlobWriterModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly rehash: RehashRule;
  readonly room: DiskQuota;
  readonly sites: readonly BackendHandle[];
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
  readonly clock: Clock;
}

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
  async put(blob: VerifiedBlob, signal: AbortSignal, isUnmined = false): Promise<string> {
    const { store, room, sites } = this.#modules;
    let refusal: StorageError | null = null;
    try {
      const wasDamaged = this.#isDamagedHere(blob);
      if (await this.putHere(blob, signal)) {
        if (wasDamaged) await this.#readBack(blob, signal);
        if (room.isCache) this.#modules.damage.healed(store.id, blob);
        this.#tellNoMore();
        return store.id;
      }
    } catch (error) {
      signal.throwIfAborted();
      refusal = storageFault(store.id, 'put', error);
      this.#tell(refusal);
    }
    const staysHere = isUnmined && room.knowsWhatIsMined();
    if (staysHere && refusal === null) throw noRoomForUnmined(blob);
    const written = staysHere ? { by: null, refusal } : await this.#writeThrough(blob, signal);
    if (written.by !== null) return written.by;
    if (refusal === null || refusal.code === 'storage/full') {
      throw noRoom(room.isCache, sites.length > 0, written.refusal ?? refusal);
    }
    if (mayBeOneFile(refusal) && (await store.isServing())) throw noPlace(blob, refusal);
    throw refusal;
  }

  /** Does what `put` does, into the local store alone. false: there is no room. Throws the error of the disk. */
  async putHere(blob: VerifiedBlob, signal: AbortSignal): Promise<boolean> {
    const { store, room, rehash } = this.#modules;
    for (;;) {
      if (!(await room.claim(blob.bytes.length, signal))) return false;
      try {
        const identity = await store.keep(blob, signal);
        // On its way to the backends it is not hashed again.
        if (identity !== null) rehash.noteWritten(blob, identity);
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

  #isDamagedHere({ hashType, versionHash }: ContentName): boolean {
    const { catalog, store } = this.#modules;
    if (catalog.replicas.damagedCount(store.id) === 0) return false;
    return catalog
      .find(versionHash)
      .filter((entry) => entry.hashType === hashType)
      .some((entry) => catalog.placementsOf(entry).some((one) => one.backend === store.id && one.state === 'damaged'));
  }

  /**
   * The disk lost this blob once, so it counts as held here only after a read. A disk that takes the file and never gives it
   * back would otherwise make the archiver fetch the blob from the node again and again.
   */
  async #readBack(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    const finding = await examineLocal(blob, this.#modules.store, this.#modules.rehash, signal);
    if (finding.kind === 'good') return;
    const error = finding.kind === 'damaged' ? finding.error : undefined;
    throw error ?? notGivenBack(blob, this.#modules.store.id);
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
    const { sites, clock } = this.#modules;
    let refusal: unknown = null;
    // One that keeps what it acknowledged, before one that its power may take it from.
    for (const site of sites.toSorted((a, b) => a.durabilityDelayMs - b.durabilityDelayMs)) {
      if (!site.isAdmitted || !site.breaker.admits(clock.steadyMs())) continue;
      try {
        if ((await this.#put(site, blob, signal)) === 'good' && (await site.isKept(blob, signal)))
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
