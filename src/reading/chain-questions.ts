import type { BlockHash, ContentName, NamedHash, TxId, VersionHash } from '../core/blob/ids.ts';
import type { HeaderMembers } from '../node/chain-node.ts';
import type {
  BlockLookup,
  ChainView,
  LastBlock,
  LockLookup,
  PlaceLookup,
  ProofLookup,
  SafetyAnswer,
  TipLookup,
  TransactionLookup,
  WindowLookup,
} from '../view/chain-view.ts';
import type { FinalProofs } from './questions/final-proofs.ts';
import type { NodeHeaders } from './questions/node-headers.ts';
import type { Places } from './questions/places.ts';
import type { Safety } from './questions/safety.ts';
import type { WindowEntries } from './questions/window-entries.ts';

/** Answers what clients ask of the chain out of what was walked; where that could mislead, it says that it cannot tell. */
export class ChainQuestions implements ChainView {
  readonly #places: Places;
  readonly #safety: Safety;
  readonly #proofs: FinalProofs;
  readonly #window: WindowEntries;
  readonly #headers: NodeHeaders;

  constructor(places: Places, safety: Safety, proofs: FinalProofs, window: WindowEntries, headers: NodeHeaders) {
    this.#places = places;
    this.#safety = safety;
    this.#proofs = proofs;
    this.#window = window;
    this.#headers = headers;
  }

  transaction(txid: TxId): TransactionLookup {
    return this.#places.transaction(txid);
  }

  transactionAsked(txid: TxId, isListRead: boolean, signal: AbortSignal): Promise<TransactionLookup> {
    return this.#places.transactionAsked(txid, isListRead, signal);
  }

  block(at: number | BlockHash): BlockLookup {
    return this.#places.block(at);
  }

  blockAsked(at: number | BlockHash, signal: AbortSignal): Promise<BlockLookup> {
    return this.#places.blockAsked(at, signal);
  }

  newestOccurrence(name: ContentName): PlaceLookup {
    return this.#places.newestOccurrence(name);
  }

  tip(): TipLookup {
    return this.#places.tip();
  }

  chainLock(): LockLookup {
    return this.#places.chainLock();
  }

  storedAndFinal(hashes: readonly VersionHash[]): SafetyAnswer {
    return this.#safety.storedAndFinal(hashes);
  }

  lastBlock(): LastBlock {
    return this.#safety.lastBlock();
  }

  proofs(name: NamedHash, signal: AbortSignal): Promise<ProofLookup> {
    return this.#proofs.of(name, signal);
  }

  window(): WindowLookup {
    return this.#window.read();
  }

  headerMembers(hash: BlockHash, signal: AbortSignal): Promise<HeaderMembers | null> {
    return this.#headers.of(hash, signal);
  }
}
