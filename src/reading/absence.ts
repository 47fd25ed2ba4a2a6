import type { Catalog } from '../catalog/catalog.ts';
import { HASH_TYPES, type NamedHash } from '../core/blob/ids.ts';
import type { NodeLists } from '../ingest/node-lists.ts';
import type { Poller } from '../ingest/poller.ts';
import type { LeftOut, Unavailable } from '../view/archive-view.ts';
import type { ChainState } from '../view/chain-state.ts';
import { entriesOf } from './entries-of.ts';
import type { Holders } from './holders.ts';
import { leftOutIn } from './left-out.ts';
import { unavailable } from './unavailable.ts';

export interface AbsenceModules {
  readonly catalog: Catalog;
  readonly holders: Pick<Holders, 'of'>;
  readonly poller: Pick<Poller, 'isListed' | 'isListCurrent' | 'readAgain' | 'noteListedElsewhere'>;
  /** Lists of every configured node. */
  readonly lists: Pick<NodeLists, 'isOfSeveral' | 'read'>;
  readonly catalogRebuild: { readonly isDone: boolean };
  readonly chain: Pick<ChainState, 'isCurrent' | 'hasConflict'>;
}

/** Says that a blob does not exist only when every place, list and block that could have it was asked; else why it cannot tell. */
export class Absence {
  readonly #modules: AbsenceModules;

  constructor(modules: AbsenceModules) {
    this.#modules = modules;
  }

  /** For a name without a row. `absent`: that is proven. What a rule leaves out is never absent. */
  async of(name: NamedHash, signal: AbortSignal): Promise<{ readonly kind: 'absent' } | LeftOut | Unavailable> {
    const { catalog, poller } = this.#modules;
    const before = this.#whyNotAbsent(name);
    if (before !== null) return before;
    for (const hashType of name.hashType === null ? HASH_TYPES : [name.hashType]) {
      const holder = await this.#modules.holders.of({ hashType, versionHash: name.versionHash }, signal);
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
    if (isUnread || entriesOf(catalog, name).length > 0) {
      return unavailable('not-fetched-yet', 'The node lists it since a moment ago; its bytes are not here yet.', 1);
    }
    // While these answers came, blocks may have come as well, which the list names no more.
    return whyListed ?? this.#whyNotAbsent(name) ?? { kind: 'absent' };
  }

  /** Tells what the catalog, the list and the chain say against it at this moment; null: nothing. */
  #whyNotAbsent(name: NamedHash): LeftOut | Unavailable | null {
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
    return null;
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
      poller.noteListedElsewhere([listed]);
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
}
