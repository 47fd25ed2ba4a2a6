import { segwitAddress, withChecksum } from '../chain/address.ts';
import { BLOCK_BITS, BLOCK_VERSION, type Block } from '../chain/block.ts';
import type { EmulatedChain } from '../chain/emulated-chain.ts';
import type { Transaction, TransactionInput } from '../chain/transaction.ts';
import { amount, type Reply, type ReplyObject } from './reply.ts';
import { WireNumber } from './wire-value.ts';

/** Difficulty of the easiest target, in the digits that the node prints. */
export const DIFFICULTY = new WireNumber('4.656542373906925e-10');
const HEADER_BYTES = 80;

export function headerView(chain: EmulatedChain, block: Block): ReplyObject {
  const active = chain.tree.isActive(block);
  return {
    hash: block.hash,
    confirmations: active ? chain.tip.height - block.height + 1 : -1,
    height: block.height,
    version: BLOCK_VERSION,
    versionHex: BLOCK_VERSION.toString(16),
    merkleroot: block.merkleRootHex,
    time: block.timeSeconds,
    mediantime: block.medianTimeSeconds,
    nonce: block.nonce,
    bits: BLOCK_BITS.toString(16),
    difficulty: DIFFICULTY,
    chainwork: chainWorkHex(block),
    nTx: block.transactions.length,
    previousblockhash: block.previous?.hash,
    nextblockhash: chain.tree.next(block)?.hash,
    chainlock: chain.locks.covers(block),
  };
}

export function blockView(chain: EmulatedChain, block: Block, verbosity: number): ReplyObject {
  const countBytes = block.transactions.length < 0xfd ? 1 : 3;
  const strippedBytes = sum(block, (transaction) => transaction.strippedBytes) + HEADER_BYTES + countBytes;
  const sizeBytes = sum(block, (transaction) => transaction.sizeBytes) + HEADER_BYTES + countBytes;
  return {
    ...headerView(chain, block),
    strippedsize: strippedBytes,
    size: sizeBytes,
    weight: 3 * strippedBytes + sizeBytes,
    tx: block.transactions.map(
      (transaction, index): Reply =>
        verbosity < 2
          ? transaction.txid
          : {
              ...transactionView(transaction),
              fee: index === 0 ? undefined : amount(transaction.feeSats),
              hex: transaction.raw.toString('hex'),
            },
    ),
  };
}

/** The view of a mined transaction with its fee and the outputs that it spends, as undo data gives them. */
export function spendingView(chain: EmulatedChain, transaction: Transaction): ReplyObject {
  return {
    ...transactionView(transaction, (input) => prevoutView(chain, input)),
    fee: amount(transaction.feeSats),
  };
}

function prevoutView(chain: EmulatedChain, { previous }: TransactionInput): ReplyObject | undefined {
  const origin = previous === null ? null : chain.tree.find(previous.txid);
  const output = previous === null ? undefined : origin?.transaction.outputs[previous.vout];
  if (origin === null || output === undefined) return undefined;
  const { transaction, block } = origin;
  return {
    generated: transaction.inputs[0]?.previous === null,
    height: block.height,
    value: amount(output.valueSats),
    scriptPubKey: scriptView(Buffer.from(output.script)),
  };
}

export function transactionView(
  transaction: Transaction,
  prevoutOf: (input: TransactionInput) => ReplyObject | undefined = () => undefined,
): ReplyObject {
  return {
    txid: transaction.txid,
    hash: transaction.witnessTxid,
    version: transaction.version,
    size: transaction.sizeBytes,
    vsize: transaction.virtualBytes,
    weight: transaction.weight,
    locktime: transaction.lockTime,
    vin: transaction.inputs.map((input) => ({
      ...(input.previous === null
        ? { coinbase: hex(input.script) }
        : { txid: input.previous.txid, vout: input.previous.vout, scriptSig: { asm: '', hex: hex(input.script) } }),
      txinwitness: input.witness.map(hex),
      prevout: prevoutOf(input),
      sequence: input.sequence,
    })),
    vout: transaction.outputs.map((output, index) => ({
      value: amount(output.valueSats),
      n: index,
      scriptPubKey: scriptView(Buffer.from(output.script)),
    })),
  };
}

/** The three kinds of output on this chain. */
export function scriptView(script: Buffer): ReplyObject {
  const program = script.subarray(2);
  const text = program.toString('hex');
  if (script[0] === 0x00) {
    const address = segwitAddress(0, program);
    const desc = withChecksum(`addr(${address})`);
    return { asm: `0 ${text}`, desc, hex: hex(script), address, type: 'witness_v0_keyhash' };
  }
  if (script[0] === 0x51) {
    const desc = withChecksum(`rawtr(${text})`);
    return { asm: `1 ${text}`, desc, hex: hex(script), address: segwitAddress(1, program), type: 'witness_v1_taproot' };
  }
  return { asm: `OP_RETURN ${text}`, desc: withChecksum(`raw(${hex(script)})`), hex: hex(script), type: 'nulldata' };
}

export function chainWorkHex(block: Block): string {
  return block.chainWork.toString(16).padStart(64, '0');
}

function sum(block: Block, measure: (transaction: Transaction) => number): number {
  return block.transactions.reduce((total, transaction) => total + measure(transaction), 0);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
