import {
  type BlockHash,
  type ContentName,
  parseBlockHash,
  parseTxId,
  sameContent,
  type TxId,
  type VersionHash,
} from '../../src/core/blob/ids.ts';
import type { HeaderMembers } from '../../src/node/chain-node.ts';
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
} from '../../src/view/chain-view.ts';

export function chainUnavailable(reason: ChainUnavailableReason, retryAfterSeconds = 7): ChainUnavailable {
  return { kind: 'unavailable', reason, message: `It is ${reason}.`, retryAfterSeconds };
}

export const TIP_HEIGHT = 12;
const blockHashAt = (height: number): BlockHash => parseBlockHash(height.toString(16).padStart(64, 'b'));
const txidOf = (name: ContentName): TxId => parseTxId(`${name.versionHash.slice(0, 60)}7777`);

/** A small chain that a test fills; up to height 11 it is final. */
export class FakeChainView implements ChainView {
  readonly occurrences: MinedOccurrence[] = [];
  readonly unmined: WindowEntry[] = [];
  /** The answer of everything that needs a current walk, when given. */
  trouble: ChainUnavailable | null = null;
  proving: ProofLookup | null = null;
  /** Members that a node adds to headers; null: it cannot be asked. */
  members: HeaderMembers | null = null;
  readonly headersAsked: BlockHash[] = [];
  finalHeight = 11;
  byChainLock = true;
  readonly #sizes = new Map<string, number>();

  /** Puts content into a block of the branch. */
  mine(name: ContentName & { readonly sizeBytes?: number }, height = 5): MinedOccurrence {
    const { hashType, versionHash } = name;
    const final = height <= this.finalHeight;
    const occurrence = {
      hashType,
      versionHash,
      txid: txidOf(name),
      vout: 1,
      height,
      blockHash: blockHashAt(height),
      medianTimeSeconds: 1_700_000_000 + height,
      final,
      chainLocked: final && this.byChainLock,
    };
    this.#sizes.set(versionHash, name.sizeBytes ?? 1_000);
    this.occurrences.push(occurrence);
    return occurrence;
  }

  async transactionAsked(txid: TxId): Promise<TransactionLookup> {
    return this.transaction(txid);
  }

  transaction(txid: TxId): TransactionLookup {
    const occurrence = this.occurrences.find((one) => one.txid === txid);
    if (occurrence !== undefined) return { kind: 'found', occurrence };
    return this.trouble ?? { kind: 'absent' };
  }

  block(at: number | BlockHash): BlockLookup {
    if (this.trouble !== null) return this.trouble;
    const height = [...Array(TIP_HEIGHT + 1).keys()].find((one) => one === at || blockHashAt(one) === at);
    if (height === undefined) return { kind: 'absent' };
    const block = {
      height,
      hash: blockHashAt(height),
      previousHash: blockHashAt(Math.max(0, height - 1)),
      timeSeconds: 1_700_000_000 + height,
      medianTimeSeconds: 1_700_000_000 + height,
      final: height <= this.finalHeight,
      occurrences: this.occurrences.filter((one) => one.height === height),
    };
    return { kind: 'found', block };
  }

  async blockAsked(at: number | BlockHash): Promise<BlockLookup> {
    return this.block(at);
  }

  async proofs(): Promise<ProofLookup> {
    return this.proving ?? this.trouble ?? { kind: 'absent' };
  }

  storedAndFinal(hashes: readonly VersionHash[]): SafetyAnswer {
    const safe = hashes.map((hash) => this.occurrences.some((one) => one.versionHash === hash && one.final));
    return this.trouble === null || safe.every(Boolean) ? { kind: 'told', safe } : this.trouble;
  }

  lastBlock(): LastBlock {
    return this.trouble ?? { kind: 'found', block: { height: this.finalHeight, hash: blockHashAt(this.finalHeight) } };
  }

  tip(): TipLookup {
    const at = { height: TIP_HEIGHT, hash: blockHashAt(TIP_HEIGHT) };
    return (
      this.trouble ?? {
        kind: 'found',
        tip: { ...at, timeSeconds: 1_700_000_100, medianTimeSeconds: 1_700_000_050 },
      }
    );
  }

  async headerMembers(hash: BlockHash): Promise<HeaderMembers | null> {
    this.headersAsked.push(hash);
    return this.members;
  }

  chainLock(): LockLookup {
    if (!this.byChainLock) return { kind: 'absent' };
    return { kind: 'found', block: { height: this.finalHeight, hash: blockHashAt(this.finalHeight) } };
  }

  newestOccurrence(name: ContentName): PlaceLookup {
    const newest = this.occurrences.findLast((one) => sameContent(one, name));
    return newest === undefined ? (this.trouble ?? { kind: 'absent' }) : { kind: 'found', newest };
  }

  window(): WindowLookup {
    const mined = this.occurrences.map(({ hashType, versionHash, medianTimeSeconds, txid }) => ({
      hashType,
      versionHash,
      medianTimeSeconds,
      txid,
      sizeBytes: this.#sizes.get(versionHash) ?? 0,
    }));
    return this.trouble ?? { kind: 'found', entries: [...mined, ...this.unmined] };
  }
}
