import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import type { PlacedOccurrence } from '../catalog/occurrence-table.ts';
import { atMost } from '../core/at-most.ts';
import type { BlockHash, ContentName, NamedHash } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Receipt } from '../verify/receipt.ts';
import type { RecordLookup, Unavailable, Withheld } from '../view/archive-view.ts';
import type { ChainUnavailable } from '../view/chain-view.ts';
import type { ReceiptLookup, ReceiptView } from '../view/receipt-view.ts';
import type { StatementSigner } from './attestor.ts';

export interface ReceiptModules {
  readonly archiverId: string;
  readonly signer: Pick<StatementSigner, 'publicKey' | 'keys' | 'sign'>;
  readonly catalog: Pick<Catalog, 'find' | 'chain'>;
  readonly gate: { refusal(name: NamedHash): Withheld | Unavailable | null };
  readonly chain: { readonly finalHeight: number | null };
  /** The genesis block; null: the archive is bound to no chain yet. */
  readonly boundChain: () => Promise<BlockHash | null>;
  /** Says what is known of a blob that gets no receipt. */
  readonly records: { record(name: NamedHash, signal: AbortSignal, after: null): Promise<RecordLookup> };
  readonly clock: Clock;
}

interface Standing extends ContentName {
  readonly sizeBytes: number;
  readonly occurrence: PlacedOccurrence;
}

/** Receipts that are given again as they are: some 20 MiB at most. */
const REMEMBERED = 10_000;
const RETRY_SECONDS = 10;
const FINAL_RETRY_SECONDS = 60;

/**
 * Signs what is stored and final, at the moment at which it is asked for, and nothing else. The first occurrence is named, so
 * that one blob has one receipt: it is signed once and given again while it is still true.
 */
export class Receipts implements ReceiptView {
  readonly #modules: ReceiptModules;
  readonly #signed = new LRUCache<string, Receipt>(atMost(REMEMBERED));

  constructor(modules: ReceiptModules) {
    this.#modules = modules;
  }

  async receipt(name: NamedHash, signal: AbortSignal): Promise<ReceiptLookup> {
    const genesis = await this.#modules.boundChain();
    // From here to the signature nothing is awaited: what is signed is so at one moment.
    const refusal = this.#modules.gate.refusal(name);
    if (refusal !== null) return refusal;
    const standing = genesis === null ? null : this.#standing(name);
    if (genesis !== null && standing !== null) return { kind: 'found', receipt: this.#sign(genesis, standing) };
    const lookup = await this.#modules.records.record(name, signal, null);
    if (lookup.kind !== 'found') return lookup;
    const { rule, seenAt, state } = lookup.record;
    return rule === null ? notYet(state === 'stored') : { kind: 'not-archived-by-rule', since: seenAt, rule };
  }

  #standing({ versionHash, hashType: asked }: NamedHash): Standing | null {
    const { catalog, chain } = this.#modules;
    const { finalHeight } = chain;
    for (const { hashType, state, sizeBytes } of catalog.find(versionHash)) {
      if (state !== 'stored' || (asked !== null && asked !== hashType)) continue;
      const [occurrence] = catalog.chain.occurrences({ hashType, versionHash }, null, 1);
      const isFinal = occurrence !== undefined && finalHeight !== null && occurrence.height <= finalHeight;
      if (isFinal) return { hashType, versionHash, sizeBytes, occurrence };
    }
    return null;
  }

  #sign(chain: BlockHash, { hashType, versionHash, sizeBytes, occurrence }: Standing): Receipt {
    const { archiverId: archiver, signer, clock } = this.#modules;
    const { publicKey: key, keys } = signer;
    const { txid, vout, height, blockHash } = occurrence;
    const subject = [key, chain, hashType, versionHash, txid, vout, blockHash].join('/');
    const before = this.#signed.get(subject);
    if (before !== undefined) return before;
    const at = new Date(clock.wallMs()).toISOString();
    const about = { kind: 'holdfast/receipt', format: 1, archiver, key, chain, state: 'stored-and-final', at } as const;
    const signed = signer.sign({ ...about, hashType, versionHash, sizeBytes, txid, vout, height, blockHash });
    const receipt = { ...signed, keys };
    this.#signed.set(subject, receipt);
    return receipt;
  }
}

function notYet(isStored: boolean): ReceiptLookup {
  const why: Pick<ChainUnavailable, 'reason' | 'message' | 'retryAfterSeconds'> = isStored
    ? {
        reason: 'not-final',
        message: 'It is stored, and no occurrence of it is final yet.',
        retryAfterSeconds: FINAL_RETRY_SECONDS,
      }
    : { reason: 'not-placed', message: 'It is known, and not stored yet.', retryAfterSeconds: RETRY_SECONDS };
  return { kind: 'not-yet', why: { kind: 'unavailable', ...why } };
}
