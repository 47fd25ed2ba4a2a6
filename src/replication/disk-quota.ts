import type { EvictionGrade, EvictionSafety } from '../catalog/cache-ledger.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import { type LocalStore, ROW_LIMIT_BYTES } from '../storage/local/local-store.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import type { EvictionCheck } from './eviction-check.ts';

/** Room on the volume of the data folder. */
export interface DiskRoom {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface DiskQuotaOptions {
  /** `keep` deletes nothing, ever; `cache` evicts copies that backends hold. */
  readonly mode: 'keep' | 'cache';
  /** Bytes of blobs that a cache holds at most; null: as many as the disk has room for. */
  readonly budgetBytes: number | null;
  readonly disk: () => Promise<DiskRoom>;
  /** Free bytes at this moment, for people; null: the system does not say. */
  readonly freeBytes: () => number | null;
}

export interface DiskQuotaModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly conditions: ConditionBoard;
  readonly eviction: Pick<EvictionCheck, 'answering' | 'confirm'>;
  /** Reports whether the list is whole and the chain walked to its end, so that the blobs in no block are known. */
  readonly knowsWhatIsMined: () => boolean;
  readonly clock: Clock;
}

/**
 * Left free for the catalog, which has to go on when blobs have no room: of a small disk, a share. Evicting needs room as
 * well: the logs of the catalog and of the small blobs come to 40 MiB.
 */
const RESERVE = { bytes: 268_435_456, share: 0.05, minBytes: 67_108_864, maxShare: 0.4 } as const;
/** A condition is set when less than this is free. */
const ALARM = { bytes: 5_368_709_120, share: 0.1, minBytes: 83_886_080, maxShare: 0.5 } as const;
/** Time for which a look at the disk is good. */
const DISK_LOOK_MS = 1_000;
const GRADES: readonly EvictionGrade[] = ['stored', 'held-elsewhere'];
const SAFETIES: readonly EvictionSafety[] = ['kept', 'settled'];
const EVICTED_TOGETHER = 32;
/**
 * A search for stored blobs that finds none has read every row of the cache. Spare claims repeat it only after so long. Every
 * other claim repeats it at once: otherwise blobs that lack a copy would go while stored ones are here.
 */
const SEARCH_AGAIN_MS = 10_000;
/** A settled copy is read whole elsewhere before it goes, while a write waits for the room. */
const ASKED_TOGETHER: Readonly<Record<EvictionSafety, number>> = { kept: EVICTED_TOGETHER, settled: 8 };

/** Decides how many bytes the local store may still take, and which copies give way for more. */
export class DiskQuota {
  readonly #options: DiskQuotaOptions;
  readonly #modules: DiskQuotaModules;
  #usedBytes: number;
  #disk: DiskRoom | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** Claimed and perhaps not written yet: a look at the disk does not show it. */
  #underWayBytes = 0;
  /** Bytes that the last look may not have shown: then under way, or claimed since. A disk can fill between two looks. */
  #unseenBytes = 0;
  #isLow = false;
  /** When a search for stored blobs last found none, by what was searched for. */
  readonly #foundNoneMs = new Map<string, number>();
  /** One at a time: room that is freed for one blob is not counted for another, nor is a blob deleted that has come again.
   * The caller gets the error; the next one has its turn all the same. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DiskQuotaOptions, modules: DiskQuotaModules) {
    this.#options = options;
    this.#modules = modules;
    this.#usedBytes = options.mode === 'cache' ? modules.catalog.replicas.cached.localBytes() : 0;
  }

  get isCache(): boolean {
    return this.#options.mode === 'cache';
  }

  /** Bytes of blobs that a cache holds; null: it keeps all. */
  get cachedBytes(): number | null {
    return this.isCache ? this.#usedBytes : null;
  }

  get budgetBytes(): number | null {
    return this.#options.budgetBytes;
  }

  /** Bytes of blobs in the data folder, by the catalog. */
  get bytes(): number {
    const { counts } = this.#modules.catalog;
    return this.cachedBytes ?? counts.of('spooled').bytes + counts.of('stored').bytes;
  }

  get status(): ArchiveStatus['local'] {
    const { mode, budgetBytes, freeBytes } = this.#options;
    return { mode, bytes: this.bytes, budgetBytes, freeBytes: freeBytes() };
  }

  /** Otherwise what seems to be in no block may be in one that was not walked yet. */
  knowsWhatIsMined(): boolean {
    return this.#modules.knowsWhatIsMined();
  }

  /**
   * true: so many bytes may be written here, and are counted from now on; the writer calls `settle` when it is done.
   * Rejects only when the signal aborts.
   */
  claim(bytes: number, signal: AbortSignal): Promise<boolean> {
    return this.withoutEviction(() => this.#claim(bytes, signal));
  }

  /**
   * Does what `claim` does, and claims nothing: bytes are fetched only where they will have room. `countedBytes`: so many are
   * counted for the copy that they replace.
   */
  makeRoom(bytes: number, countedBytes: number, signal: AbortSignal): Promise<boolean> {
    return this.withoutEviction(async () => {
      this.giveBack(countedBytes);
      try {
        return await this.#makeRoom(bytes, signal);
      } finally {
        this.takeBack(countedBytes);
      }
    });
  }

  /** Evicts blobs that were not mined in time. Gives how many went. `told`: which left the books, before they are deleted. */
  expire(
    entries: readonly ContentEntry[],
    signal: AbortSignal,
    told: (gone: readonly ContentEntry[]) => void = () => {},
  ): Promise<number> {
    return this.withoutEviction(async () => {
      const gone = this.#modules.catalog.unmined.recordEvicted(entries, 'expired');
      told(gone);
      await this.#delete(gone, signal);
      return gone.length;
    });
  }

  /** The write for which so many bytes were claimed is over, well or not. */
  settle(bytes: number): void {
    this.#underWayBytes -= bytes;
  }

  /** The bytes that were claimed were not written. */
  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
  }

  /** The bytes that were given back are still there. */
  takeBack(bytes: number): void {
    this.#usedBytes += bytes;
  }

  /**
   * Settles bytes that were claimed and written for a blob that the catalog held already: two sources gave it, or a
   * backend holds it. A cache may have evicted the blob before or since. Then its bytes would lie here in no books, or its room
   * would be taken until the next look at the disk. So would the room of a blob that was taken down. `isHere` reads and
   * hashes the bytes.
   */
  async enterAgain(name: ContentName, sizeBytes: number, isHere: () => Promise<boolean>): Promise<void> {
    if (!this.isCache) return;
    const { catalog } = this.#modules;
    const { cached } = catalog.replicas;
    await this.withoutEviction(async () => {
      const entry = catalog.find(name.versionHash).find(({ hashType }) => hashType === name.hashType);
      const isEntered = entry !== undefined && !cached.has(entry) && (await isHere()) && cached.recordCached(entry);
      if (!isEntered) this.giveBack(sizeBytes);
    });
  }

  /** Reports whether a take-down says that its bytes are to lie nowhere. */
  isToBePurged(name: ContentName): boolean {
    return this.#modules.catalog.withheld.isToBePurged(name);
  }

  /** Deletes bytes that were written here when a purge had looked for them already. false: no purge is in force. */
  purgeAgain(name: ContentName): Promise<boolean> {
    // A revocation looks for the bytes in its turn: what it finds is not deleted.
    return this.withoutEviction(async () => {
      if (!this.isToBePurged(name)) return false;
      await this.#modules.store.purge(name, UNSTOPPED);
      this.freed();
      return true;
    });
  }

  /**
   * Deletes bytes in no books: a crash left them, and a backend has the blob, because here was no room for it. They would
   * lie here uncounted until the next start. Bytes that arrive again are left alone.
   */
  async deleteUncounted(name: ContentName): Promise<void> {
    if (!this.isCache) return;
    const { catalog, store } = this.#modules;
    await this.withoutEviction(async () => {
      const entry = catalog.find(name.versionHash).find(({ hashType }) => hashType === name.hashType);
      const isInBooks = entry === undefined || catalog.replicas.cached.has(entry);
      if (isInBooks || catalog.arriving.has(name) || (await store.stat(name, UNSTOPPED)) === null) return;
      await store.delete(name, UNSTOPPED);
      this.freed();
    });
  }

  /**
   * Bytes of the volume that no other file may take: as much as a disk has that is not nearly full, and blobs that are being
   * written. New blobs would have no room where the reserve of the catalog alone stays free.
   */
  async reservedBytes(): Promise<number> {
    const { totalBytes } = await this.#options.disk();
    return limitOf(ALARM, totalBytes) + this.#underWayBytes;
  }

  /** Something that was not counted was deleted: the disk has more room than it had. */
  freed(): void {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
  }

  /** Looks at the disk and tells whether it is nearly full, also where nothing is written for long. */
  lookAtDisk(): Promise<void> {
    return this.withoutEviction(async () => {
      this.#recount();
      this.freed();
      await this.#look(0);
    });
  }

  /** Counts the bytes of the cache again: copies were damaged, repaired or taken down, which changes the books alone. */
  recount(): Promise<void> {
    return this.withoutEviction(async () => this.#recount());
  }

  /** Claims room for a blob that need not be here: only older blobs that are stored elsewhere give way to it. */
  claimSpare(bytes: number, signal: AbortSignal): Promise<boolean> {
    return this.withoutEviction(() => this.#claimSpare(bytes, signal));
  }

  /** Evicts what it can, because the disk said that it is full, whatever was measured. true: something went. */
  relieve(signal: AbortSignal): Promise<boolean> {
    return this.withoutEviction(async () => {
      this.#lookedMs = Number.NEGATIVE_INFINITY;
      return this.isCache && (await this.#evictSafest(signal));
    });
  }

  /** Does this work while nothing else is evicted and no room is claimed: the bytes of a copy go after its row. */
  withoutEviction<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #claim(bytes: number, signal: AbortSignal): Promise<boolean> {
    if (!(await this.#makeRoom(bytes, signal))) return false;
    this.#count(bytes);
    return true;
  }

  async #makeRoom(bytes: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    while (!(await this.#hasRoom(bytes))) {
      if (!this.isCache || !(await this.#evictSafest(signal))) return false;
    }
    return true;
  }

  async #claimSpare(bytes: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    while (!(await this.#hasRoom(bytes))) {
      if (!(await this.#evict('stored', signal, true))) return false;
    }
    this.#count(bytes);
    return true;
  }

  /** Counts from the books, as at a start, where nothing is on its way into them. */
  #recount(): void {
    const { arriving, replicas } = this.#modules.catalog;
    const isSettled = this.#underWayBytes === 0 && arriving.isEmpty;
    if (this.isCache && isSettled) this.#usedBytes = replicas.cached.localBytes();
  }

  #count(bytes: number): void {
    this.#usedBytes += bytes;
    this.#underWayBytes += bytes;
    this.#unseenBytes += bytes;
  }

  async #hasRoom(bytes: number): Promise<boolean> {
    const { budgetBytes } = this.#options;
    if (this.isCache && budgetBytes !== null && this.#usedBytes + bytes > budgetBytes) return false;
    const { freeBytes, totalBytes } = await this.#look(bytes);
    return freeBytes - this.#unseenBytes - bytes >= limitOf(RESERVE, totalBytes);
  }

  /** A look is good for a while, but neither for refusing a write nor past the point where the condition is to be set. */
  async #look(bytes: number): Promise<DiskRoom> {
    const steadyMs = this.#modules.clock.steadyMs();
    if (this.#disk !== null && steadyMs - this.#lookedMs < DISK_LOOK_MS) {
      const { freeBytes, totalBytes } = this.#disk;
      const left = freeBytes - this.#unseenBytes - bytes;
      if (left >= limitOf(this.#isLow ? RESERVE : ALARM, totalBytes)) return this.#disk;
    }
    this.#unseenBytes = this.#underWayBytes;
    this.#disk = await this.#options.disk();
    this.#lookedMs = steadyMs;
    this.#tell(this.#disk);
    return this.#disk;
  }

  #tell({ freeBytes, totalBytes }: DiskRoom): void {
    this.#isLow = freeBytes - this.#unseenBytes < limitOf(ALARM, totalBytes);
    const percent = Math.floor((freeBytes / totalBytes) * 100);
    this.#modules.conditions.set(
      'room',
      this.#isLow
        ? {
            code: 'disk/nearly-full',
            message: `The volume of the data folder has ${Math.floor(freeBytes / 1_048_576)} MiB free (${percent} %).`,
            hint: this.isCache
              ? 'The cache gives way; give the volume more room, or HOLDFAST_LOCAL_BYTES a smaller budget.'
              : 'Give the volume more room, or add a backend and let the data folder be a cache (HOLDFAST_LOCAL_MODE).',
            blocksReadiness: false,
          }
        : null,
    );
  }

  /** Evicts the safest copies, oldest first. They leave the catalog before they are deleted: never a claim without bytes. */
  async #evictSafest(signal: AbortSignal): Promise<boolean> {
    const { unmined } = this.#modules.catalog;
    if (this.knowsWhatIsMined()) {
      const gone = unmined.recordEvicted(unmined.here(EVICTED_TOGETHER), 'no-room');
      if (await this.#delete(gone, signal)) return true;
    }
    for (const grade of GRADES) {
      if (await this.#evict(grade, signal)) return true;
    }
    return false;
  }

  async #evict(grade: EvictionGrade, signal: AbortSignal, isSpare = false): Promise<boolean> {
    for (const safety of SAFETIES) {
      if (await this.#evictSafe(grade, safety, signal, isSpare)) return true;
    }
    return false;
  }

  /** Only on the word of backends that answer now, and only what they say they hold when they are asked. */
  async #evictSafe(
    grade: EvictionGrade,
    safety: EvictionSafety,
    signal: AbortSignal,
    isSpare: boolean,
  ): Promise<boolean> {
    const { eviction, catalog } = this.#modules;
    const { cached, required } = catalog.replicas;
    // Fewer backends than are required make no blob stored: the search would read every row of the cache.
    const least = grade === 'stored' ? required : 1;
    let backends = eviction.answering();
    while (backends.length >= least) {
      const entries = isSpare
        ? this.#stored(safety, backends)
        : cached.evictable(grade, safety, backends, ASKED_TOGETHER[safety]);
      const { there, bad, silent } = await eviction.confirm(entries, safety, backends, signal);
      if (await this.#delete(cached.recordEvicted(there), signal)) return true;
      // A copy that was found gone is not among the next ones, and neither are those of a backend that is silent.
      if (bad === 0 && silent.size === 0) return false;
      backends = backends.filter((backend) => !silent.has(backend));
    }
    return false;
  }

  /** Finds no stored blobs so soon after a search that found none. */
  #stored(safety: EvictionSafety, backends: readonly string[]): readonly ContentEntry[] {
    const { catalog, clock } = this.#modules;
    const searched = `${safety} ${backends.join(' ')}`;
    const foundNoneMs = this.#foundNoneMs.get(searched) ?? Number.NEGATIVE_INFINITY;
    if (clock.steadyMs() - foundNoneMs < SEARCH_AGAIN_MS) return [];
    const entries = catalog.replicas.cached.evictable('stored', safety, backends, ASKED_TOGETHER[safety]);
    if (entries.length === 0) this.#foundNoneMs.set(searched, clock.steadyMs());
    return entries;
  }

  async #reclaim(signal: AbortSignal): Promise<void> {
    try {
      await this.#modules.store.reclaim(signal);
    } catch (error) {
      signal.throwIfAborted();
      // The next look at the disk tells how much room there is; rows find theirs in the file.
      this.#modules.conditions.note('room', `free pages were not given back to the disk: ${messageOf(error)}`);
    }
  }

  /**
   * true: there was something to delete. A copy that the disk refuses to delete stays counted, and keeps none of the others.
   * A stop does not either: copies that the catalog knows no more would stay here for ever.
   */
  async #delete(gone: readonly ContentEntry[], signal: AbortSignal): Promise<boolean> {
    let refusal: { readonly error: unknown } | null = null;
    for (const entry of gone) {
      try {
        await this.#modules.store.delete(entry, UNSTOPPED);
        this.#usedBytes -= entry.sizeBytes;
      } catch (error) {
        refusal ??= { error };
      }
    }
    if (gone.length > 0) {
      this.#lookedMs = Number.NEGATIVE_INFINITY;
      // Rows leave their room in their file.
      if (gone.some(({ sizeBytes }) => sizeBytes <= ROW_LIMIT_BYTES)) await this.#reclaim(signal);
    }
    if (refusal !== null) throw refusal.error;
    return gone.length > 0;
  }
}

/** Never aborts. */
const UNSTOPPED = new AbortController().signal;

interface FreeLimit {
  readonly bytes: number;
  readonly share: number;
  readonly minBytes: number;
  /** The limit of a disk so small that even `minBytes` would be most of it. */
  readonly maxShare: number;
}

function limitOf({ bytes, share, minBytes, maxShare }: FreeLimit, totalBytes: number): number {
  return Math.max(Math.min(bytes, totalBytes * share), Math.min(minBytes, totalBytes * maxShare));
}
