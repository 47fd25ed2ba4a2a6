import { StorageError } from '../../storage/errors.ts';
import type { LocalStore } from '../../storage/local/local-store.ts';
import type { RehashRule, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { DamageWatch } from '../damage-watch.ts';
import { ArchiveError } from '../errors.ts';
import type { LocalRoom } from './local-room.ts';
import type { CopyFinding, Site } from './site.ts';

export interface HomeModules {
  readonly store: LocalStore;
  readonly rehash: RehashRule;
  readonly room: LocalRoom;
  readonly sites: readonly Site[];
  readonly damage: DamageWatch;
  readonly steadyMs: () => number;
}

/** The first durable home of a verified blob: the local store; without room there, a backend that takes it directly. */
export class Home {
  readonly #modules: HomeModules;

  constructor(modules: HomeModules) {
    this.#modules = modules;
  }

  /**
   * Resolves with the name of the store that holds it durably; one that is not the local store was read back. What no
   * block has goes to no other: `archive/no-room-for-unmined` where there is no room for it here.
   */
  async put(blob: VerifiedBlob, signal: AbortSignal, isUnmined = false): Promise<string> {
    const { store, room, rehash } = this.#modules;
    for (;;) {
      if (!(await room.claim(blob.bytes.length, signal))) {
        if (isUnmined && room.knowsWhatIsMined()) throw noRoomForUnmined(blob);
        return await this.#writeThrough(blob, signal);
      }
      try {
        const identity = await store.keep(blob, signal);
        // On its way to the backends it is not hashed again.
        if (identity !== null) rehash.noteWritten(blob, identity);
        if (room.isCache) this.#modules.damage.healed(store.id, blob);
        return store.id;
      } catch (error) {
        room.giveBack(blob.bytes.length);
        const isFull = error instanceof StorageError && error.code === 'storage/full';
        if (!isFull || !room.isCache) throw error;
        if (!(await room.relieve(signal))) return await this.#writeThrough(blob, signal);
      } finally {
        room.settle(blob.bytes.length);
      }
    }
  }

  async #writeThrough(blob: VerifiedBlob, signal: AbortSignal): Promise<string> {
    const { sites, room, steadyMs } = this.#modules;
    let refusal: unknown = null;
    // One that keeps what it acknowledged, before one that its power may take it from.
    for (const site of room.isCache ? sites.toSorted((a, b) => a.settlesMs - b.settlesMs) : []) {
      if (!site.isAdmitted || !site.breaker.admits(steadyMs())) continue;
      try {
        if ((await this.#put(site, blob, signal)) === 'good' && (await site.isKept(blob, signal))) return site.id;
      } catch (error) {
        signal.throwIfAborted();
        refusal = error;
      }
    }
    throw noRoom(room.isCache, refusal);
  }

  /** What lay there already and is not it is read again on a fresh connection and set aside before it is replaced. */
  async #put(site: Site, blob: VerifiedBlob, signal: AbortSignal): Promise<CopyFinding['kind']> {
    const { store } = site;
    await site.judged(() => (store.putUnseen ?? store.put).call(store, blob, signal), signal);
    const { kind } = await site.examine(blob, signal);
    if (kind !== 'damaged' || store.putUnseen === undefined) return kind;
    await site.setAside(blob, signal);
    await site.judged(() => store.put(blob, signal), signal);
    return (await site.read(blob, signal)).kind;
  }
}

function noRoom(isCache: boolean, cause: unknown): StorageError {
  const says = isCache
    ? 'The local store is full of blobs that no backend holds yet, and no backend takes another one.'
    : 'The local store has no room left: the rest of its volume is reserved for the catalog.';
  return new StorageError('storage/full', says, {
    details: { backend: 'local', operation: 'put' },
    retryable: true,
    hint: 'Give the volume more room, or mend the backends that the status names; fetching goes on by itself then.',
    cause,
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
