import { hash } from 'node:crypto';
import type { TxId } from '../../core/blob/ids.ts';
import type { Content } from './content.ts';
import { commitmentScript, taprootScript, witnessKeyHashScript } from './script.ts';
import { seededBytes, seededInteger } from './seeded-bytes.ts';
import {
  BLOB_TRANSACTION_VERSION,
  createTransaction,
  type Transaction,
  type TransactionOutput,
} from './transaction.ts';

/** Blocks until a coinbase output is spendable. */
const COINBASE_MATURITY = 100;
/** Fallback fee rate of the recorded wallet: 0.0002 a kilobyte. */
const FEE_SATS_PER_VBYTE = 20n;
const SEQUENCE_REPLACEABLE = 0xfffffffd;
/** Sequence of a transaction that is not replaceable and whose lock time counts. */
const SEQUENCE_FINAL = 0xfffffffe;
/**
 * Weight units that the wallet overestimates: it expects a taproot signature of 65 bytes and makes one of 64 (recorded
 * fees).
 */
const ESTIMATE_SLACK_WEIGHT = 1;

/** An unspent output of the wallet. */
export interface Coin {
  readonly txid: TxId;
  readonly vout: number;
  readonly valueSats: bigint;
  readonly lock: 'witness-key' | 'taproot';
  readonly script: string;
  /** Height of the coinbase that made the coin; null for change. */
  readonly coinbaseHeight: number | null;
}

/** The transaction that made a coin. */
export interface CoinOrigin {
  readonly transaction: Transaction;
  /** null: not a coinbase. */
  readonly coinbaseHeight: number | null;
}

/** Looks up a transaction of the wallet, waiting or mined. */
export type CoinSource = (txid: TxId) => CoinOrigin | null;

/** The OP_RETURN output of a transaction and the rest of its content. */
export interface Payload {
  readonly version: number;
  /** Script of the OP_RETURN output. */
  readonly script: Uint8Array;
  readonly content: Content | null;
  /** true when a transaction with a higher fee may replace this one (BIP 125). */
  readonly replaceable: boolean;
}

export function blobPayload(content: Content): Payload {
  const script = commitmentScript(content.hashType, content.versionHash);
  return { version: BLOB_TRANSACTION_VERSION, script, content, replaceable: true };
}

export interface FundingRequest {
  readonly payload: Payload;
  readonly tipHeight: number;
  readonly isConfirmed: (txid: TxId) => boolean;
  /** Fee rate in sat/vB; null for the fallback rate. */
  readonly feeSatsPerVbyte: bigint | null;
  /** Makes the transaction differ from another one with the same content and coin. */
  readonly salt: string;
  /** Spends this coin and no other, as a replacement does. */
  readonly coin?: Coin;
}

/**
 * Coins and keys of the node's wallet. Signatures have the right shape but are not valid, because no peer checks them.
 */
export class Wallet {
  readonly #payoutKeys = new Map<string, Buffer>();
  #payoutScript: Buffer;
  readonly #seed: string;
  /** Coinbases, kept apart because they are many and rarely looked up. */
  readonly #coinbases = new Map<string, Coin>();
  readonly #change = new Map<string, Coin>();
  readonly #source: CoinSource;

  constructor(seed: string, source: CoinSource) {
    this.#seed = seed;
    this.#source = source;
    this.#payoutScript = this.#payoutTo(0);
  }

  /** Script that receives coinbases. */
  get payoutScript(): Buffer {
    return this.#payoutScript;
  }

  /** Switches to another payout key. Otherwise empty blocks of two branches would hold the same coinbase. */
  rotatePayout(): void {
    this.#payoutScript = this.#payoutTo(this.#payoutKeys.size);
  }

  /** Funds a transaction. Returns null when no mature coin is large enough. */
  fund(request: FundingRequest): Transaction | null {
    const coin = request.coin ?? this.#choose(request);
    if (coin === null) return null;
    const draft = this.#build(coin, request, 0n);
    const estimate = BigInt(Math.ceil((draft.weight + ESTIMATE_SLACK_WEIGHT) / 4));
    const feeSats = estimate * (request.feeSatsPerVbyte ?? FEE_SATS_PER_VBYTE);
    return feeSats < coin.valueSats ? this.#build(coin, request, feeSats) : null;
  }

  /** The coins that a transaction spends or spent. */
  coinsSpentBy(transaction: Transaction): Coin[] {
    return transaction.inputs.flatMap(({ previous }) => {
      const origin = previous === null ? null : this.#source(previous.txid);
      const output = previous === null ? undefined : origin?.transaction.outputs[previous.vout];
      if (previous === null || origin === null || output === undefined) return [];
      return coinOf(origin, previous.vout, output) ?? [];
    });
  }

  /** Removes the inputs of a transaction and adds its outputs to the wallet. */
  apply(transaction: Transaction, coinbaseHeight: number | null): void {
    for (const { previous } of transaction.inputs) {
      if (previous !== null) this.#take(outpoint(previous.txid, previous.vout));
    }
    for (const [vout, output] of transaction.outputs.entries()) {
      const coin = coinOf({ transaction, coinbaseHeight }, vout, output);
      if (coin !== null) this.#put(coin);
    }
  }

  /** Reverts `apply`. */
  undo(transaction: Transaction): void {
    for (const vout of transaction.outputs.keys()) this.#take(outpoint(transaction.txid, vout));
    for (const coin of this.coinsSpentBy(transaction)) this.#put(coin);
  }

  #put(coin: Coin): void {
    const coins = coin.coinbaseHeight === null ? this.#change : this.#coinbases;
    coins.set(outpoint(coin.txid, coin.vout), coin);
  }

  #take(key: string): void {
    this.#change.delete(key);
    this.#coinbases.delete(key);
  }

  /** Chooses confirmed change first, then mature coinbases, then unconfirmed change. */
  #choose({ tipHeight, isConfirmed, payload }: FundingRequest): Coin | null {
    const vbytes = Math.ceil((payload.content?.sizeBytes ?? 0) / 100) + 400 + payload.script.length;
    const enough = BigInt(vbytes) * FEE_SATS_PER_VBYTE;
    let unconfirmed: Coin | null = null;
    for (const coin of this.#change.values()) {
      if (coin.valueSats <= enough) continue;
      if (isConfirmed(coin.txid)) return coin;
      unconfirmed ??= coin;
    }
    for (const coin of this.#coinbases.values()) {
      const ripe = coin.coinbaseHeight !== null && tipHeight + 1 - coin.coinbaseHeight >= COINBASE_MATURITY;
      if (ripe && coin.valueSats > enough) return coin;
      // The oldest coinbases come first: behind an immature one, all are immature.
      if (!ripe) break;
    }
    return unconfirmed;
  }

  #build(coin: Coin, { payload, tipHeight, salt }: FundingRequest, feeSats: bigint): Transaction {
    const label = `${this.#seed}/spend ${coin.txid}:${coin.vout} ${salt}`;
    const change: TransactionOutput = {
      valueSats: coin.valueSats - feeSats,
      script: taprootScript(seededBytes(`${label}/change key`, 32)),
    };
    const data: TransactionOutput = { valueSats: 0n, script: payload.script };
    return createTransaction({
      version: payload.version,
      inputs: [
        {
          previous: { txid: coin.txid, vout: coin.vout },
          script: new Uint8Array(0),
          sequence: payload.replaceable ? SEQUENCE_REPLACEABLE : SEQUENCE_FINAL,
          witness: this.#witness(coin, label),
        },
      ],
      // The wallet puts its change at a random index, so the data output can have either one.
      outputs: seededInteger(`${label}/position`, 2) === 0 ? [change, data] : [data, change],
      lockTime: tipHeight,
      feeSats,
      content: payload.content,
    });
  }

  #payoutTo(index: number): Buffer {
    const publicKey = Buffer.concat([Uint8Array.of(0x02), seededBytes(`${this.#seed}/payout key ${index}`, 32)]);
    const script = witnessKeyHashScript(hash('ripemd160', hash('sha256', publicKey, 'buffer'), 'buffer'));
    this.#payoutKeys.set(script.toString('hex'), publicKey);
    return script;
  }

  #witness(coin: Coin, label: string): Uint8Array[] {
    if (coin.lock === 'taproot') return [seededBytes(`${label}/signature`, 64)];
    const r = seededBytes(`${label}/r`, 32);
    const s = seededBytes(`${label}/s`, 32);
    // DER integers are signed, so the top bit must be 0.
    r[0] = (r[0] ?? 0) & 0x7f;
    s[0] = (s[0] ?? 0) & 0x7f;
    const signature = Buffer.concat([Buffer.of(0x30, 0x44, 0x02, 0x20), r, Buffer.of(0x02, 0x20), s, Buffer.of(0x01)]);
    return [signature, this.#payoutKeys.get(coin.script) ?? Buffer.alloc(33)];
  }
}

function outpoint(txid: TxId, vout: number): string {
  return `${txid}:${vout}`;
}

function coinOf({ transaction, coinbaseHeight }: CoinOrigin, vout: number, output: TransactionOutput): Coin | null {
  const { valueSats, script } = output;
  const lock = lockOf(script);
  if (lock === null) return null;
  return { txid: transaction.txid, vout, valueSats, lock, script: Buffer.from(script).toString('hex'), coinbaseHeight };
}

function lockOf(script: Uint8Array): Coin['lock'] | null {
  if (script[0] === 0x00) return 'witness-key';
  return script[0] === 0x51 ? 'taproot' : null;
}
