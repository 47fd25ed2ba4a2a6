import { z } from 'zod';
import { encodeHex } from '../../core/blob/hex.ts';
import type { BlockHash, TxId } from '../../core/blob/ids.ts';
import type { NodeClient } from '../client.ts';
import type { Decimal } from '../decimal.ts';
import { decimal } from '../decimal-field.ts';
import { blockHash, bytesOfHex, decode, txId } from '../decode.ts';
import { type CallOptions, LARGE_ANSWER_BYTES, type NodeCall } from '../node-call.ts';
import { simpleCall } from './chain-info.ts';

export interface InBlock {
  /** Block to search. Without it, the node searches its mempool, and its transaction index if present. */
  readonly blockHash?: BlockHash;
}

export interface TransactionInfo {
  readonly txid: TxId;
  readonly version: number;
  /** Block of the transaction; null in the mempool. */
  readonly blockHash: BlockHash | null;
  /** Confirmations; 0 with a block hash for a block of a dead branch. */
  readonly confirmations: number;
  readonly outputs: readonly TransactionOutput[];
}

export interface TransactionOutput {
  /** Native coins with every digit. */
  readonly value: Decimal;
  readonly script: Uint8Array;
}

const transaction = z.object({
  txid: txId,
  version: z.int(),
  blockhash: blockHash.optional(),
  confirmations: z.int().default(0),
  vout: z.array(z.object({ value: decimal, scriptPubKey: z.object({ hex: z.string() }) })),
});

export function transactionCall(id: TxId, where: InBlock = {}): NodeCall<TransactionInfo> {
  const read = (result: unknown) => {
    const answer = decode(transaction, result, 'getRawTransaction');
    return {
      txid: answer.txid,
      version: answer.version,
      blockHash: answer.blockhash ?? null,
      confirmations: answer.confirmations,
      outputs: answer.vout.map(({ value, scriptPubKey }) => ({
        value,
        script: bytesOfHex(scriptPubKey.hex, 'getRawTransaction'),
      })),
    };
  };
  const named = { txid: id, verbose: true, blockhash: where.blockHash };
  return { ...simpleCall('getRawTransaction', read, named), limitBytes: LARGE_ANSWER_BYTES };
}

/** Calls `getrawtransaction` with the node's decoding. */
export async function getTransaction(
  client: NodeClient,
  id: TxId,
  options: InBlock & CallOptions = {},
): Promise<TransactionInfo> {
  return client.run(transactionCall(id, options), options);
}

export function rawTransactionCall(id: TxId, where: InBlock = {}): NodeCall<Uint8Array> {
  const read = (result: unknown) => bytesOfHex(result, 'getRawTransaction');
  const named = { txid: id, verbose: false, blockhash: where.blockHash };
  return { ...simpleCall('getRawTransaction', read, named), limitBytes: LARGE_ANSWER_BYTES };
}

export async function getRawTransaction(
  client: NodeClient,
  id: TxId,
  options: InBlock & CallOptions = {},
): Promise<Uint8Array> {
  return client.run(rawTransactionCall(id, options), options);
}

export function txOutProofCall(ids: readonly TxId[], where: InBlock = {}): NodeCall<Uint8Array> {
  const read = (result: unknown) => bytesOfHex(result, 'getTxOutProof');
  return simpleCall('getTxOutProof', read, { txids: ids, blockhash: where.blockHash });
}

/** Header and Merkle branch. The node proves transactions of dead branches as well. */
export async function getTxOutProof(
  client: NodeClient,
  ids: readonly TxId[],
  options: InBlock & CallOptions = {},
): Promise<Uint8Array> {
  return client.run(txOutProofCall(ids, options), options);
}

const txIds = z.array(txId);

export function verifyTxOutProofCall(proof: Uint8Array): NodeCall<TxId[]> {
  const read = (result: unknown) => decode(txIds, result, 'verifyTxOutProof');
  return simpleCall('verifyTxOutProof', read, { proof: encodeHex(proof) });
}

/** Transactions that the proof contains; empty for an invalid proof. */
export async function verifyTxOutProof(
  client: NodeClient,
  proof: Uint8Array,
  options: CallOptions = {},
): Promise<TxId[]> {
  return client.run(verifyTxOutProofCall(proof), options);
}

export function rawMempoolCall(): NodeCall<TxId[]> {
  const read = (result: unknown) => decode(txIds, result, 'getRawMempool');
  return { ...simpleCall('getRawMempool', read), limitBytes: LARGE_ANSWER_BYTES };
}

export async function getRawMempool(client: NodeClient, options: CallOptions = {}): Promise<TxId[]> {
  return client.run(rawMempoolCall(), options);
}

export interface MempoolInfo {
  readonly transactions: number;
  readonly bytes: number;
  /** Total fee in native coins. */
  readonly totalFee: Decimal | null;
  /** Minimum fee in native coins per 1,000 virtual bytes. */
  readonly minimumFee: Decimal;
}

const mempool = z.object({
  size: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  total_fee: decimal.optional(),
  mempoolminfee: decimal,
});

export function mempoolInfoCall(): NodeCall<MempoolInfo> {
  return simpleCall('getMempoolInfo', (result) => {
    const { size, bytes, total_fee, mempoolminfee } = decode(mempool, result, 'getMempoolInfo');
    return { transactions: size, bytes, totalFee: total_fee ?? null, minimumFee: mempoolminfee };
  });
}

export async function getMempoolInfo(client: NodeClient, options: CallOptions = {}): Promise<MempoolInfo> {
  return client.run(mempoolInfoCall(), options);
}
