import { hash } from 'node:crypto';
import { segwitAddress } from '../chain/address.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import { seededBytes } from '../chain/seeded-bytes.ts';
import type { Transaction } from '../chain/transaction.ts';

/** A token as its issuer created it. Supplies count its smallest units. */
export interface Asset {
  readonly guid: bigint;
  readonly symbol: string;
  readonly description: string;
  readonly contract: string;
  readonly notaryAddress: string;
  readonly updateCapabilityFlags: number;
  /** Decimal places, 0 to 8. */
  readonly precision: number;
  readonly maxSupplyUnits: bigint;
  readonly totalSupplyUnits: bigint;
}

/** Units of one asset on an address, with the sats that carry them. */
export interface Holding {
  readonly units: bigint;
  readonly sats: bigint;
}

/** One recipient of a transaction. */
export interface Allocation {
  readonly guid: bigint;
  readonly address: string;
  readonly units: bigint;
  readonly sats: bigint;
}

/** Version of a transaction that moves assets (release line 4.2). */
const ALLOCATION_SEND_VERSION = 135;
const OP_RETURN = 0x6a;

export type SendProblem = 'asset' | 'funds';

/** Tokens, their balances by address and by wallet, and the sends that move them. */
export class AssetLedger {
  readonly #chain: EmulatedChain;
  readonly #seed: string;
  readonly #assets = new Map<bigint, Asset>();
  /** Holdings by asset and address. */
  readonly #holdings = new Map<string, Holding>();
  readonly #undo = new Map<string, () => void>();

  constructor(chain: EmulatedChain, seed: string, wallets: readonly string[]) {
    this.#chain = chain;
    this.#seed = seed;
    const [first] = wallets;
    if (first !== undefined) for (const asset of STARTING_ASSETS) this.issue(asset, this.addressOf(first));
    chain.events.on('dropped', (transactions) => this.#takeBack(transactions));
  }

  /** Creates a token, or more units of it, on one address. */
  issue(asset: Asset, address: string): void {
    this.#assets.set(asset.guid, asset);
    this.#change({ guid: asset.guid, address, units: asset.totalSupplyUnits, sats: 0n }, 1n);
  }

  asset(guid: bigint): Asset | null {
    return this.#assets.get(guid) ?? null;
  }

  /** The address of a wallet's tokens, which also receives its change. */
  addressOf(wallet: string): string {
    return segwitAddress(
      0,
      hash('sha256', seededBytes(`${this.#seed}/tokens of ${wallet}`, 32), 'buffer').subarray(0, 20),
    );
  }

  balance(guid: bigint, addresses: readonly string[]): Holding {
    let units = 0n;
    let sats = 0n;
    for (const address of new Set(addresses)) {
      const holding = this.#holdings.get(key(guid, address));
      units += holding?.units ?? 0n;
      sats += holding?.sats ?? 0n;
    }
    return { units, sats };
  }

  /** The reason why a send is impossible; null when it is possible. */
  problem(wallet: string, allocations: readonly Allocation[]): SendProblem | null {
    const from = this.addressOf(wallet);
    for (const guid of new Set(allocations.map((allocation) => allocation.guid))) {
      if (!this.#assets.has(guid)) return 'asset';
      if (totalOf(allocations, guid).units > this.balance(guid, [from]).units) return 'funds';
    }
    return null;
  }

  /**
   * Sends tokens in a transaction that waits for a block; dropping it returns them. Returns null when the fee cannot be
   * paid.
   */
  send(wallet: string, allocations: readonly Allocation[], replaceable: boolean): Transaction | null {
    const memo = hash(
      'sha256',
      allocations.map(({ guid, address, units }) => `${guid} ${address} ${units}`).join(),
      'buffer',
    );
    const script = Buffer.concat([Uint8Array.of(OP_RETURN, memo.length), memo]);
    const transaction = this.#chain.send({ version: ALLOCATION_SEND_VERSION, script, content: null, replaceable });
    if (transaction === null) return null;
    const from = this.addressOf(wallet);
    const move = (sign: bigint): void => {
      for (const allocation of allocations) {
        this.#change(allocation, sign);
        this.#change({ ...allocation, address: from, sats: 0n }, -sign);
      }
    };
    move(1n);
    this.#undo.set(transaction.txid, () => move(-1n));
    return transaction;
  }

  #takeBack(transactions: readonly Transaction[]): void {
    for (const { txid } of transactions) {
      this.#undo.get(txid)?.();
      this.#undo.delete(txid);
    }
  }

  #change({ guid, address, units, sats }: Allocation, sign: bigint): void {
    const held = this.#holdings.get(key(guid, address)) ?? { units: 0n, sats: 0n };
    this.#holdings.set(key(guid, address), { units: held.units + sign * units, sats: held.sats + sign * sats });
  }
}

/** Units and sats of one asset that a send moves in total. */
export function totalOf(allocations: readonly Allocation[], guid: bigint): Holding {
  const own = allocations.filter((allocation) => allocation.guid === guid);
  return {
    units: own.reduce((sum, { units }) => sum + units, 0n),
    sats: own.reduce((sum, { sats }) => sum + sats, 0n),
  };
}

function key(guid: bigint, address: string): string {
  return `${guid} ${address}`;
}

/** Tokens of a new chain: a usual one, one without decimals, and one whose guid exceeds a double. */
const STARTING_ASSETS: readonly Asset[] = [
  { guid: 1_635_229_536n, symbol: 'GOLD', precision: 8, supply: 1_000_000_00000000n, max: 100_000_000_00000000n },
  { guid: 2_529_870_008n, symbol: 'SHARE', precision: 0, supply: 1_000_000n, max: 1_000_000n },
  {
    guid: 18_446_744_073_709_551_615n,
    symbol: 'LAST',
    precision: 2,
    supply: 12_345_678_901_23n,
    max: 99_999_999_999_99n,
  },
].map(({ guid, symbol, precision, supply, max }) => ({
  guid,
  symbol,
  precision,
  description: `${symbol} of the emulated chain`,
  contract: '',
  notaryAddress: '',
  updateCapabilityFlags: 127,
  totalSupplyUnits: supply,
  maxSupplyUnits: max,
}));
