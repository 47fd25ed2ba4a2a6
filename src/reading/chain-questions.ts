import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import type { OccurrenceRow, PlacedOccurrence } from '../catalog/occurrence-table.ts';
import { OccurrenceProofs } from '../chain/occurrence-proofs.ts';
import type { BlockHash, ContentName, NamedHash, TxId, VersionHash } from '../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { Clock } from '../core/time/clock.ts';
import type { NodeLists } from '../ingest/node-lists.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainNode, HeaderMembers } from '../node/chain-node.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { ChainState, NotCurrent } from '../view/chain-state.ts';
import type {
  BlockLookup,
  ChainUnavailable,
  ChainUnavailableReason,
  ChainView,
  LastBlock,
  LockLookup,
  MinedOccurrence,
  PlaceLookup,
  ProofLookup,
  SafetyAnswer,
  TipLookup,
  TransactionLookup,
  WindowEntry,
  WindowLookup,
} from '../view/chain-view.ts';
import type { CatalogGate } from './gate.ts';
import { LastSavedBlock } from './last-saved-block.ts';
import { leftOutIn } from './left-out.ts';
import { recordedLoss } from './recorded-loss.ts';

export interface ChainQuestionModules {
  readonly node: Pick<ChainNode, 'header'>;
  readonly catalog: Catalog;
  readonly gate: CatalogGate;
  /** Every backend with names, nearest first. */
  readonly records: readonly ObjectStore[];
  readonly poller: Pick<Poller, 'isListCurrent' | 'isTransactionListed' | 'readAgain'>;
  readonly lists: Pick<NodeLists, 'isOfSeveral' | 'read'>;
  readonly catalogRebuild: { readonly isDone: boolean };
  readonly chain: Pick<ChainState, 'whyNotCurrent' | 'hasConflict' | 'lacksHistory' | 'finalHeight'>;
  readonly clock: Pick<Clock, 'steadyMs'>;
  /** Limit of the look-ups of one `lastBlock` call. */
  readonly maxLookUps?: number;
}

/** Unconfirmed blobs are looked for among so many latest arrivals. */
const LATEST_ARRIVALS = 5_000;
/** Readers ask again after this where `lastBlock` has to be searched for. */
const SEARCH_SECONDS = 5;
/** Clients page through the window, and ask for it over and over; it is thousands of rows. */
const WINDOW_MS = 500;
const CHAINLOCK = 'chainlock';
/** Questions for headers to the node at a time; a header costs the node well below a millisecond. */
const MAX_HEADERS_ASKED = 8;
const HEADER_MS = 2_000;
const REMEMBERED_HEADERS = 2_000;
const NOT_CURRENT: Readonly<Record<NotCurrent, string>> = {
  'walk-behind': 'The chain is not walked to its end.',
  'finality-unknown': 'The node fails when it is asked what is final.',
  'not-compared': 'Not every configured node was asked yet whether it follows the walked branch.',
};

interface RememberedWindow {
  readonly entries: readonly WindowEntry[];
  readonly tip: BlockHash;
  readonly untilMs: number;
}

/** Answers what clients ask of the chain out of what was walked; where that could mislead, it says that it cannot tell. */
export class ChainQuestions implements ChainView {
  readonly #modules: ChainQuestionModules;
  readonly #proofs: OccurrenceProofs;
  readonly #lastSaved: LastSavedBlock;
  readonly #headers = new LRUCache<BlockHash, HeaderMembers>({ max: REMEMBERED_HEADERS });
  #headersAsked = 0;
  #window: RememberedWindow | null = null;

  constructor(modules: ChainQuestionModules) {
    this.#modules = modules;
    this.#lastSaved = new LastSavedBlock(modules.catalog, modules.clock, modules.maxLookUps);
    this.#proofs = new OccurrenceProofs(modules.catalog, modules.records);
  }

  transaction(txid: TxId): TransactionLookup {
    const found = this.#modules.catalog.chain.ofTransaction(txid);
    if (found !== null) return { kind: 'found', occurrence: this.#describe(found) };
    return this.#whyNotAbsent() ?? this.#whyNoHistory() ?? { kind: 'absent' };
  }

  async transactionAsked(txid: TxId, isListRead: boolean, signal: AbortSignal): Promise<TransactionLookup> {
    const lookup = this.transaction(txid);
    if (lookup.kind !== 'absent') return lookup;
    const { isListed, silent } = await this.#whoLists(txid, isListRead, signal);
    if (isListed) return unavailable('walk-behind', 'A node lists it, and no block that was walked has it yet.', 5);
    if (silent.length > 0)
      return unavailable('walk-behind', `${silent.join(', ')} was asked for its list, and has not answered.`, 5);
    // The transaction may have been walked meanwhile, and a reason against absence may have arisen.
    return this.transaction(txid);
  }

  /** Another node than the followed one may have a block that is not walked yet. */
  async #whoLists(txid: TxId, isListRead: boolean, signal: AbortSignal) {
    const { lists, poller } = this.#modules;
    if (lists.isOfSeveral) {
      const { transactions, silent } = await lists.read();
      return { isListed: transactions.has(txid), silent };
    }
    const isRead = isListRead || (await poller.readAgain(signal));
    return { isListed: poller.isTransactionListed(txid), silent: isRead ? [] : ['The node'] };
  }

  block(at: number | BlockHash): BlockLookup {
    const { chain, answers } = this.#modules.catalog;
    const height = typeof at === 'number' ? at : chain.heightOf(at);
    const block = height === null ? null : chain.blockAt(height);
    if (block === null) return this.#whyNoBlock(at);
    const { hash, medianTimeSeconds } = block;
    const occurrences = answers
      .ofBlock(block.height)
      .map((occurrence) => this.#describe({ ...occurrence, blockHash: hash, medianTimeSeconds }));
    return { kind: 'found', block: { ...block, final: this.#isFinal(block.height), occurrences } };
  }

  async proofs(name: NamedHash, signal: AbortSignal): Promise<ProofLookup> {
    const refusal = this.#modules.gate.refusal(name);
    if (refusal !== null) return refusal;
    const final = this.#modules.chain.finalHeight;
    const contents = this.#contents(name);
    if (contents.length === 0) return leftOutIn(this.#modules.catalog, name) ?? { kind: 'absent' };
    const found = await this.#proofs.of(contents, final, signal);
    switch (found.kind) {
      case 'found':
        return found;
      case 'none-final':
        return unavailable('not-final', 'No occurrence of it is final yet, so there is no record of one.', 60);
      case 'none-good':
        return unavailable('store-fault', found.message, 30);
      default:
        return found satisfies never;
    }
  }

  storedAndFinal(hashes: readonly VersionHash[]): SafetyAnswer {
    const safe = hashes.map((versionHash) => this.#isSafe(versionHash));
    const isWithheld = (versionHash: VersionHash) =>
      this.#modules.gate.refusal({ versionHash, hashType: null })?.kind === 'withheld';
    // `false` is always true of withheld content.
    const doubtful = hashes.filter((versionHash, index) => safe[index] === false && !isWithheld(versionHash));
    if (doubtful.length === 0) return { kind: 'told', safe };
    const why = this.#whyNotAbsent() ?? this.#whyNotPlaced(doubtful) ?? this.#whyHistory(doubtful);
    return why ?? { kind: 'told', safe };
  }

  lastBlock(): LastBlock {
    const { catalog, chain } = this.#modules;
    const { startHeight } = catalog.chain.state;
    const final = chain.finalHeight;
    if (final === null || startHeight === null) return unavailable('not-final', 'No block is final yet.', 30);
    const found = this.#lastSaved.find(startHeight, final);
    if (found.kind === 'searching')
      return unavailable('not-placed', 'Up to where everything is stored is being looked for.', SEARCH_SECONDS);
    const { upTo } = found;
    const block = upTo < startHeight ? null : catalog.chain.blockAt(upTo);
    if (block === null) {
      return unavailable(
        'not-placed',
        `A blob of block ${Math.max(upTo + 1, startHeight)}, where the walk began, is not stored yet.`,
        30,
      );
    }
    return { kind: 'found', block: { height: block.height, hash: block.hash } };
  }

  tip(): TipLookup {
    const { tip } = this.#modules.catalog.chain.state;
    if (tip === null) return unavailable('not-walked', 'No block has been walked yet.', 10);
    return this.#whyNotCurrent() ?? { kind: 'found', tip };
  }

  async headerMembers(hash: BlockHash, signal: AbortSignal): Promise<HeaderMembers | null> {
    const known = this.#headers.get(hash);
    if (known !== undefined) return known;
    if (this.#headersAsked >= MAX_HEADERS_ASKED) return null;
    this.#headersAsked += 1;
    try {
      const waiting = AbortSignal.any([signal, AbortSignal.timeout(HEADER_MS)]);
      const { shown } = await this.#modules.node.header(hash, waiting);
      if (shown !== undefined) this.#headers.set(hash, shown);
      return shown ?? null;
    } catch {
      // The walk's own facts of the block are an answer without the node's.
      return null;
    } finally {
      this.#headersAsked -= 1;
    }
  }

  chainLock(): LockLookup {
    const final = this.#modules.chain.finalHeight;
    const block = final === null || !this.#byChainLock() ? null : this.#modules.catalog.chain.blockAt(final);
    return block === null ? { kind: 'absent' } : { kind: 'found', block: { height: block.height, hash: block.hash } };
  }

  newestOccurrence(name: ContentName): PlaceLookup {
    const { chain, answers } = this.#modules.catalog;
    const height = chain.lastHeight(name);
    const block = height === null ? null : chain.blockAt(height);
    if (block === null) return this.#whyNotAbsent() ?? this.#whyNoHistory() ?? { kind: 'absent' };
    const row = answers.ofBlock(block.height).findLast((one) => isOf(one, name));
    if (row === undefined) return { kind: 'absent' };
    const { hash: blockHash, medianTimeSeconds } = block;
    return { kind: 'found', newest: this.#describe({ ...row, blockHash, medianTimeSeconds }) };
  }

  window(): WindowLookup {
    const { catalog, clock } = this.#modules;
    const { chain, answers } = catalog;
    const { tip } = chain.state;
    const why = this.#whyNotCurrent();
    if (why !== null) return why;
    if (tip === null) return unavailable('not-walked', 'No block has been walked yet.', 10);
    const known = this.#window;
    if (known?.tip === tip.hash && clock.steadyMs() < known.untilMs) return { kind: 'found', entries: known.entries };
    const since = tip.medianTimeSeconds - RETENTION_SECONDS;
    const entries = new Map<string, WindowEntry>();
    const lowest = answers.lowestHeightSince(tip.height, since) ?? 0;
    // A later occurrence of the same content replaces the earlier, and moves it to the end, as its new time does.
    for (const entry of [...answers.minedSince(lowest), ...answers.unminedSince(since, LATEST_ARRIVALS)]) {
      const key = `${entry.hashType}/${entry.versionHash}`;
      entries.delete(key);
      entries.set(key, entry);
    }
    this.#window = { entries: [...entries.values()], tip: tip.hash, untilMs: clock.steadyMs() + WINDOW_MS };
    return { kind: 'found', entries: this.#window.entries };
  }

  #isSafe(versionHash: VersionHash): boolean {
    const { catalog } = this.#modules;
    return catalog.find(versionHash).some((content) => {
      if (content.state !== 'stored') return false;
      const first = catalog.chain.firstHeight(content);
      return first !== null && this.#isFinal(first);
    });
  }

  /** While this says why, a block that is not walked can hold what is asked for. */
  #whyNotAbsent(): ChainUnavailable | null {
    return this.#whyNotCurrent() ?? this.#whyConflict();
  }

  #whyConflict(): ChainUnavailable | null {
    if (!this.#modules.chain.hasConflict) return null;
    return unavailable('conflict', 'The configured nodes follow different branches.', 30);
  }

  #whyNoHistory(): ChainUnavailable | null {
    if (!this.#modules.chain.lacksHistory) return null;
    return unavailable('rebuilding', 'The catalog is new, and older blocks are still being walked.', 30);
  }

  /** Held, and perhaps final in a block that this catalog, being new, has not walked yet. */
  #whyHistory(hashes: readonly VersionHash[]): ChainUnavailable | null {
    const { chain, catalog } = this.#modules;
    if (!chain.lacksHistory) return null;
    const held = hashes.find((versionHash) => catalog.find(versionHash).some(({ state }) => state !== 'seen'));
    if (held === undefined) return null;
    return unavailable('rebuilding', `The blocks that may hold ${held} are being walked: the catalog is new.`, 30);
  }

  /** Known, not lost, and not on as many backends as are required: it can be any moment. */
  #whyNotPlaced(hashes: readonly VersionHash[]): ChainUnavailable | null {
    const { catalog } = this.#modules;
    for (const versionHash of hashes) {
      if (recordedLoss(catalog, { versionHash, hashType: null }) !== null) continue;
      const known = catalog.find(versionHash);
      if (known.some(({ state }) => state === 'stored') || catalog.custom.has(versionHash)) continue;
      // The blob stays out of every other place until a block has it: `false` is right, for the walk is current.
      if (known.length > 0 && known.every(({ state, isUnmined }) => isUnmined && state !== 'seen')) continue;
      if (known.length > 0 || catalog.findQueued(versionHash) !== null) {
        return unavailable('not-placed', `The blob ${versionHash} is known, and not stored yet.`, 10);
      }
    }
    return null;
  }

  /** While this says why, what no block named can still be in one. */
  #whyNotCurrent(): ChainUnavailable | null {
    const { catalogRebuild, poller, chain } = this.#modules;
    if (!catalogRebuild.isDone) return unavailable('rebuilding', 'The catalog is being rebuilt.', 30);
    if (!poller.isListCurrent()) return unavailable('walk-behind', 'The node has not been asked lately.', 10);
    const why = chain.whyNotCurrent;
    return why === null ? null : unavailable(why, NOT_CURRENT[why], 10);
  }

  #whyNoBlock(at: number | BlockHash): BlockLookup {
    const { lowestHeight } = this.#modules.catalog.chain.state;
    const why = this.#whyNotAbsent();
    if (why !== null) return why;
    if (lowestHeight === null || (typeof at === 'number' && at < lowestHeight)) {
      return unavailable(
        'not-walked',
        `The walk began at height ${lowestHeight ?? 'unknown'}; what is below was not looked at.`,
        600,
      );
    }
    return { kind: 'absent' };
  }

  #contents(name: NamedHash) {
    const contents = this.#modules.catalog.find(name.versionHash);
    return contents.filter(({ hashType }) => name.hashType === null || hashType === name.hashType);
  }

  #describe({ hashType, versionHash, txid, vout, height, blockHash, medianTimeSeconds }: Described): MinedOccurrence {
    const final = this.#isFinal(height);
    const chainLocked = final && this.#byChainLock();
    return { hashType, versionHash, txid, vout, height, blockHash, medianTimeSeconds, final, chainLocked };
  }

  #isFinal(height: number): boolean {
    const final = this.#modules.chain.finalHeight;
    return final !== null && height <= final;
  }

  #byChainLock(): boolean {
    return this.#modules.catalog.answers.finalityRule() === CHAINLOCK;
  }
}

type Described = Omit<PlacedOccurrence, 'transactionIndex'>;

function isOf(row: OccurrenceRow, name: ContentName): boolean {
  return row.hashType === name.hashType && row.versionHash === name.versionHash;
}

function unavailable(reason: ChainUnavailableReason, message: string, retryAfterSeconds: number): ChainUnavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
