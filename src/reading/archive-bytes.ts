import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { type ContentName, type CustomName, HASH_TYPES, type NamedHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { Clock } from '../core/time/clock.ts';
import type { NodeLists } from '../ingest/node-lists.ts';
import type { Poller } from '../ingest/poller.ts';
import type { BackendHandle } from '../replication/backend-handle.ts';
import type { CacheFill } from '../replication/cache-fill.ts';
import type { CatalogRebuild } from '../replication/catalog-rebuild.ts';
import type { Copies } from '../replication/copies.ts';
import type { CustomPlaces } from '../replication/custom/custom-places.ts';
import type { DamageWatch } from '../replication/damage-watch.ts';
import { StorageError } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import type { Asking, LeftOut, Lost, ProvenFile, Unavailable, UnavailableReason } from '../view/archive-view.ts';
import type { ChainState } from '../view/chain-state.ts';
import { leftOutIn } from './left-out.ts';
import { LocalFile } from './local-file.ts';
import type { BlobFinder, BlobLookup, CustomLookup } from './proven-reader.ts';
import { recordedLoss } from './recorded-loss.ts';

export interface ArchiveBytesModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly copies: Copies;
  readonly rehash: RehashRule;
  readonly cacheFill: CacheFill;
  readonly sites: readonly BackendHandle[];
  readonly damage: DamageWatch;
  readonly poller: Poller;
  /** Lists of every configured node. */
  readonly lists: Pick<NodeLists, 'isOfSeveral' | 'read'>;
  readonly catalogRebuild: CatalogRebuild;
  readonly chain: Pick<ChainState, 'isCurrent' | 'hasConflict'>;
  readonly custom: Pick<CustomPlaces, 'find'>;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** Concurrent searches on the backends for unknown names, which any client can make up. */
const MAX_ABSENCE_QUESTIONS = 16;
/** Milliseconds for which the answer of all backends is reused. */
const ABSENCE_MS = 5_000;
const ABSENCE_ENTRIES = 10_000;

/** Everything that an archive can find by a name: it gives bytes only when they are proven, and says "absent" only when that is. */
export class ArchiveBytes implements BlobFinder {
  readonly #modules: ArchiveBytesModules;
  readonly #absentUntilMs = new LRUCache<string, number>({ max: ABSENCE_ENTRIES });
  #absenceQuestions = 0;

  constructor(modules: ArchiveBytesModules) {
    this.#modules = modules;
  }

  async find(name: NamedHash, { signal, hold }: Asking): Promise<BlobLookup> {
    const { store, cacheFill } = this.#modules;
    const known = this.entriesOf(name);
    const faults: StorageError[] = [];
    try {
      for (const entry of known) {
        if (entry.state === 'seen') continue;
        await hold(entry.sizeBytes);
        const search = await this.#modules.copies.find(entry, signal);
        this.#modules.damage.reportClaimed(entry, search.bad);
        if (search.found !== null) {
          if (search.found.from !== store.id) cacheFill.offer(entry, search.found.blob);
          return { kind: 'found', blob: search.found.blob };
        }
        faults.push(...search.faults);
      }
      const lost = this.lost(name);
      if (lost !== null) return lost;
      const [fault] = faults;
      if (fault !== undefined) return unavailable('store-fault', fault.message, 10);
      if (known.length > 0) {
        return unavailable('damaged', 'The copy here is damaged; it is fetched again while the node has it.', 30);
      }
      return await this.absence(name, signal);
    } catch (error) {
      if (error instanceof StorageError) return unavailable('store-fault', error.message, 10);
      throw error;
    }
  }

  async findCustom(name: CustomName, { signal, hold }: Asking): Promise<CustomLookup> {
    const { catalog, custom } = this.#modules;
    if (!catalog.custom.isKnown(name)) return { kind: 'absent' };
    await hold(MAX_BLOB_BYTES);
    const { bytes, fault } = await custom.find(name, signal);
    if (bytes !== null) return { kind: 'found', blob: { ...name, bytes } };
    return unavailable('store-fault', fault?.message ?? 'No copy of it is whole now.', 10);
  }

  /** A file that this process has hashed since it last changed; null: find and prove it. */
  async provenFile({ versionHash, hashType }: NamedHash, signal: AbortSignal): Promise<ProvenFile | null> {
    const { store, rehash } = this.#modules;
    for (const type of hashType === null ? HASH_TYPES : [hashType]) {
      const name = { hashType: type, versionHash };
      if (!rehash.knows(name)) continue;
      const file = await store.openFile(name, signal).catch(faultless);
      if (file === null) continue;
      const identity = file.identity();
      if (rehash.holds(name, identity)) return new LocalFile(name, file, identity);
      file.close();
    }
    return null;
  }

  /** null: it is not recorded as lost. */
  lost(name: NamedHash): Lost | null {
    const loss = recordedLoss(this.#modules.catalog, name);
    return loss === null ? null : { kind: 'lost', loss };
  }

  /** The rows that this name can mean. */
  entriesOf(name: NamedHash): ContentEntry[] {
    return this.#modules.catalog
      .find(name.versionHash)
      .filter((entry) => name.hashType === null || entry.hashType === name.hashType);
  }

  /** For a name without a row. `absent`: that is proven. What a rule leaves out is never absent. */
  async absence(name: NamedHash, signal: AbortSignal): Promise<{ readonly kind: 'absent' } | LeftOut | Unavailable> {
    const { catalog, poller, catalogRebuild, chain } = this.#modules;
    if (catalog.findQueued(name.versionHash) !== null) {
      return unavailable('not-fetched-yet', 'The node has listed it; its bytes are not here yet.', 5);
    }
    const leftOut = leftOutIn(catalog, name);
    if (leftOut !== null) return leftOut;
    if (this.#isOnChain(name)) {
      return unavailable(
        'cannot-tell',
        'The blob is on chain and not held here; its possible sources have not been asked recently.',
        600,
      );
    }
    // The node may still give the bytes, which had no room here while unmined.
    const isEvictedUnmined = catalog.unmined.evictions(name.versionHash).some(({ returnedMs }) => returnedMs === null);
    if (isEvictedUnmined && poller.isListed(name.versionHash)) {
      return unavailable(
        'not-fetched-yet',
        'The blob is in no block, and its bytes were evicted; it is fetched again when it is mined.',
        60,
      );
    }
    if (!catalogRebuild.isDone) return unavailable('cannot-tell', 'The catalog is being rebuilt.', 30);
    if (!poller.isListCurrent()) {
      return unavailable(
        'cannot-tell',
        'The node has not been asked lately, so it is not known whether this exists.',
        10,
      );
    }
    if (!chain.isCurrent) {
      return unavailable(
        'cannot-tell',
        'The chain is not walked to its end, so it is not known whether this is on it.',
        10,
      );
    }
    if (chain.hasConflict) {
      return unavailable(
        'cannot-tell',
        'The configured nodes follow different branches, so it is not known whether this is on the right one.',
        30,
      );
    }
    for (const hashType of name.hashType === null ? HASH_TYPES : [name.hashType]) {
      const holder = await this.#holderOf({ hashType, versionHash: name.versionHash }, signal);
      if (holder === 'not asked') return unavailable('cannot-tell', 'Too many unknown names are asked for now.', 5);
      if (holder !== null) {
        return unavailable('cannot-tell', `Bytes of this name are in ${holder}, but not in the catalog yet.`, 10);
      }
    }
    const [isRead, whyListed] = await Promise.all([poller.readAgain(signal), this.#whyListed(name)]);
    if (!isRead) {
      return unavailable('cannot-tell', 'The node was asked for its list just now, and has not answered.', 5);
    }
    const isUnread = poller.isListed(name.versionHash) && catalog.find(name.versionHash).length === 0;
    if (isUnread || this.entriesOf(name).length > 0) {
      return unavailable('not-fetched-yet', 'The node lists it since a moment ago; its bytes are not here yet.', 1);
    }
    return whyListed ?? { kind: 'absent' };
  }

  /**
   * Content that another node lists is fetched from that node like content of the followed one. Returns null when none
   * lists it.
   */
  async #whyListed({ versionHash }: NamedHash): Promise<Unavailable | null> {
    const { lists, poller } = this.#modules;
    if (!lists.isOfSeveral) return null;
    const { byHash, silent } = await lists.read();
    const listed = byHash.get(versionHash);
    if (listed !== undefined) {
      poller.noteListedElsewhere(listed);
      return unavailable('not-fetched-yet', 'A configured node lists it; its bytes are not here yet.', 5);
    }
    if (silent.length === 0) return null;
    return unavailable('cannot-tell', `${silent.join(', ')} was asked for its list just now, and has not answered.`, 5);
  }

  /** A recorded loss means that every source denied having the content; any other content on chain may be somewhere. */
  #isOnChain(name: NamedHash): boolean {
    const { chain, losses } = this.#modules.catalog;
    return HASH_TYPES.some((hashType) => {
      const content = { hashType, versionHash: name.versionHash };
      if (name.hashType !== null && name.hashType !== hashType) return false;
      return chain.firstHeight(content) !== null && losses.find(content) === null;
    });
  }

  /** A store that has something under that name; null when each one answered that it has not. A fault throws. */
  async #holderOf(name: ContentName, signal: AbortSignal): Promise<string | null> {
    const { store, sites } = this.#modules;
    if ((await store.stat(name, signal)) !== null) return 'the data folder';
    const key = `${name.hashType}/${name.versionHash}`;
    if (sites.length === 0 || (this.#absentUntilMs.get(key) ?? 0) > this.#modules.clock.steadyMs()) return null;
    if (this.#absenceQuestions >= MAX_ABSENCE_QUESTIONS) return 'not asked';
    this.#absenceQuestions += 1;
    try {
      const answers = await Promise.all(sites.map((site) => hasIt(site, name, signal)));
      const holder = sites.find((_, index) => answers[index] === true);
      if (holder !== undefined) return holder.id;
      this.#absentUntilMs.set(key, this.#modules.clock.steadyMs() + ABSENCE_MS);
      return null;
    } finally {
      this.#absenceQuestions -= 1;
    }
  }
}

/** `find` meets the same fault, and says what it means. */
function faultless(error: unknown): null {
  if (error instanceof StorageError) return null;
  throw error;
}

async function hasIt(site: BackendHandle, name: ContentName, signal: AbortSignal): Promise<boolean> {
  site.admit();
  return (await site.judged(() => site.store.stat(name, signal), signal)) !== null;
}

function unavailable(reason: UnavailableReason, message: string, retryAfterSeconds: number): Unavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
