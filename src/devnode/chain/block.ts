import { type BlockHash, parseBlockHash } from '../../core/blob/ids.ts';
import { ByteWriter } from './byte-writer.ts';
import { doubleSha256, fromRpcHex, toRpcHex } from './double-sha256.ts';
import { merkleRoot } from './merkle-tree.ts';
import { PackedTransactions } from './packed-transactions.ts';
import { coinbaseScript, witnessCommitmentScript } from './script.ts';
import { createTransaction, type Transaction } from './transaction.ts';

export const BLOCK_VERSION = 0x20000000;
/** The easiest target: every second nonce meets it on average. */
export const BLOCK_BITS = 0x207fffff;
const TARGET_HEX = `7fffff${'0'.repeat(58)}`;
/** Expected hashes per block at this target. */
const WORK_PER_BLOCK = 2n;
const SUBSIDY_SATS = 5_000_000_000n;
/** Number of blocks in a median time. */
const MEDIAN_TIME_SPAN = 11;

/** Inputs of a block. */
export interface BlockFacts {
  readonly hash: BlockHash;
  readonly header: Buffer;
  readonly height: number;
  readonly previous: Block | null;
  readonly timeSeconds: number;
  /** Median time of this block and the ten before it: the chain's own clock. */
  readonly medianTimeSeconds: number;
  readonly merkleRootHex: string;
  readonly nonce: number;
  readonly chainWork: bigint;
  readonly transactions: readonly Transaction[];
}

export class Block implements BlockFacts {
  readonly hash: BlockHash;
  readonly header: Buffer;
  readonly height: number;
  readonly previous: Block | null;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  readonly nonce: number;
  #transactions: readonly Transaction[] | PackedTransactions;

  constructor(facts: Omit<BlockFacts, 'merkleRootHex' | 'chainWork'>) {
    this.hash = facts.hash;
    this.header = facts.header;
    this.height = facts.height;
    this.previous = facts.previous;
    this.timeSeconds = facts.timeSeconds;
    this.medianTimeSeconds = facts.medianTimeSeconds;
    this.nonce = facts.nonce;
    this.#transactions = facts.transactions;
  }

  get transactions(): readonly Transaction[] {
    return this.#transactions instanceof PackedTransactions ? this.#transactions.unpack() : this.#transactions;
  }

  get merkleRootHex(): string {
    return toRpcHex(this.header.subarray(36, 68));
  }

  get chainWork(): bigint {
    return WORK_PER_BLOCK * BigInt(this.height + 1);
  }

  /** Packs the transactions to save memory. The block's values stay the same. */
  pack(): void {
    if (!(this.#transactions instanceof PackedTransactions)) {
      this.#transactions = new PackedTransactions(this.#transactions);
    }
  }
}

export interface BlockPlan {
  readonly previous: Block | null;
  readonly timeSeconds: number;
  /** Script that receives subsidy and fees. */
  readonly payoutScript: Uint8Array;
  readonly transactions: readonly Transaction[];
}

/** Assembles a block and finds a nonce whose header hash meets the target. */
export function mineBlock(plan: BlockPlan): Block {
  const height = plan.previous === null ? 0 : plan.previous.height + 1;
  const transactions = [createCoinbase(height, plan), ...plan.transactions];
  const root = merkleRoot(transactions.map((transaction) => fromRpcHex(transaction.txid)));
  const fields = new ByteWriter()
    .u32(BLOCK_VERSION)
    .rpcHash(plan.previous?.hash ?? '0'.repeat(64))
    .bytes(root)
    .u32(plan.timeSeconds)
    .u32(BLOCK_BITS)
    .u32(0)
    .finish();
  const header = Buffer.allocUnsafeSlow(fields.length);
  fields.copy(header);
  for (let nonce = 0; ; nonce++) {
    header.writeUInt32LE(nonce, 76);
    const hash = toRpcHex(doubleSha256(header));
    if (hash > TARGET_HEX) continue;
    return new Block({
      hash: parseBlockHash(hash),
      header,
      height,
      previous: plan.previous,
      timeSeconds: plan.timeSeconds,
      medianTimeSeconds: medianTime(plan.previous, plan.timeSeconds),
      nonce,
      transactions,
    });
  }
}

export function serialiseBlock(block: Block): Buffer {
  const { header, transactions } = block;
  const writer = new ByteWriter().bytes(header).compactSize(transactions.length);
  for (const transaction of transactions) writer.bytes(transaction.raw);
  return writer.finish();
}

function medianTime(previous: Block | null, timeSeconds: number): number {
  const times = [timeSeconds];
  for (let block = previous; block !== null && times.length < MEDIAN_TIME_SPAN; block = block.previous) {
    times.push(block.timeSeconds);
  }
  times.sort((a, b) => a - b);
  return times[times.length >> 1] ?? timeSeconds;
}

function createCoinbase(height: number, plan: BlockPlan): Transaction {
  const fees = plan.transactions.reduce((sum, transaction) => sum + transaction.feeSats, 0n);
  const reserved = Buffer.alloc(32);
  const witnessLeaves = [
    Buffer.alloc(32),
    ...plan.transactions.map((transaction) => fromRpcHex(transaction.witnessTxid)),
  ];
  const commitment = doubleSha256(Buffer.concat([merkleRoot(witnessLeaves), reserved]));
  return createTransaction({
    version: 2,
    inputs: [{ previous: null, script: coinbaseScript(height), sequence: 0xffffffff, witness: [reserved] }],
    outputs: [
      { valueSats: SUBSIDY_SATS + fees, script: plan.payoutScript },
      { valueSats: 0n, script: witnessCommitmentScript(commitment) },
    ],
    lockTime: 0,
    feeSats: 0n,
    content: null,
  });
}
