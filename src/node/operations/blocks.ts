import { z } from 'zod';
import type { BlockHash, TxId } from '../../core/blob/ids.ts';
import { checkWholeNumber } from '../arguments.ts';
import type { NodeClient } from '../client.ts';
import { blockHash, bytesOfHex, decode, height, seconds, txId } from '../decode.ts';
import { type CallOptions, LARGE_ANSWER_BYTES, LARGEST_BLOCK_BYTES, type NodeCall } from '../node-call.ts';
import { simpleCall } from './chain-info.ts';

export function blockCountCall(): NodeCall<number> {
  return simpleCall('getBlockCount', (result) => decode(height, result, 'getBlockCount'));
}

/** Height of the tip. */
export async function getBlockCount(client: NodeClient, options: CallOptions = {}): Promise<number> {
  return client.run(blockCountCall(), options);
}

export function bestBlockHashCall(): NodeCall<BlockHash> {
  return simpleCall('getBestBlockHash', (result) => decode(blockHash, result, 'getBestBlockHash'));
}

export async function getBestBlockHash(client: NodeClient, options: CallOptions = {}): Promise<BlockHash> {
  return client.run(bestBlockHashCall(), options);
}

export function blockHashCall(at: number): NodeCall<BlockHash> {
  checkWholeNumber(at, 'height');
  return simpleCall('getBlockHash', (result) => decode(blockHash, result, 'getBlockHash'), { height: at });
}

/** Hash of the active block at a height. */
export async function getBlockHash(client: NodeClient, at: number, options: CallOptions = {}): Promise<BlockHash> {
  return client.run(blockHashCall(at), options);
}

export interface BlockHeader {
  readonly hash: BlockHash;
  readonly height: number;
  /** Confirmations; -1 for a block outside the active branch. */
  readonly confirmations: number;
  /** Merkle root in hex, as RPC shows it. */
  readonly merkleRoot: string;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  readonly previousHash: BlockHash | null;
  readonly nextHash: BlockHash | null;
  readonly transactionCount: number;
  /** null when the node does not report it. */
  readonly chainLocked: boolean | null;
}

const header = z.object({
  hash: blockHash,
  height,
  confirmations: z.int(),
  merkleroot: z.string(),
  time: seconds,
  mediantime: seconds,
  previousblockhash: blockHash.optional(),
  nextblockhash: blockHash.optional(),
  nTx: z.int().nonnegative(),
  chainlock: z.boolean().optional(),
});

export function blockHeaderCall(hash: BlockHash): NodeCall<BlockHeader> {
  return simpleCall('getBlockHeader', (result) => headerOf(decode(header, result, 'getBlockHeader')), {
    blockhash: hash,
  });
}

export async function getBlockHeader(
  client: NodeClient,
  hash: BlockHash,
  options: CallOptions = {},
): Promise<BlockHeader> {
  return client.run(blockHeaderCall(hash), options);
}

/** The header as it is hashed: 80 bytes, and merge-mining data if present. */
export function rawBlockHeaderCall(hash: BlockHash): NodeCall<Uint8Array> {
  const named = { blockhash: hash, verbose: false };
  return simpleCall('getBlockHeader', (result) => bytesOfHex(result, 'getBlockHeader'), named);
}

export async function getRawBlockHeader(
  client: NodeClient,
  hash: BlockHash,
  options: CallOptions = {},
): Promise<Uint8Array> {
  return client.run(rawBlockHeaderCall(hash), options);
}

export interface Block extends BlockHeader {
  readonly transactions: readonly TxId[];
}

const block = header.extend({ tx: z.array(txId) });

export function blockCall(hash: BlockHash): NodeCall<Block> {
  const read = (result: unknown) => {
    const answer = decode(block, result, 'getBlock');
    return { ...headerOf(answer), transactions: answer.tx };
  };
  return { ...simpleCall('getBlock', read, { blockhash: hash, verbosity: 1 }), limitBytes: LARGE_ANSWER_BYTES };
}

/** A block with the ids of its transactions. */
export async function getBlock(client: NodeClient, hash: BlockHash, options: CallOptions = {}): Promise<Block> {
  return client.run(blockCall(hash), options);
}

export function rawBlockCall(hash: BlockHash): NodeCall<Uint8Array> {
  const read = (result: unknown) => bytesOfHex(result, 'getBlock');
  return { ...simpleCall('getBlock', read, { blockhash: hash, verbosity: 0 }), limitBytes: LARGEST_BLOCK_BYTES };
}

/** A block in wire format. Blocks do not contain the bytes of blobs. */
export async function getRawBlock(client: NodeClient, hash: BlockHash, options: CallOptions = {}): Promise<Uint8Array> {
  return client.run(rawBlockCall(hash), options);
}

function headerOf(answer: z.output<typeof header>): BlockHeader {
  return {
    hash: answer.hash,
    height: answer.height,
    confirmations: answer.confirmations,
    merkleRoot: answer.merkleroot,
    timeSeconds: answer.time,
    medianTimeSeconds: answer.mediantime,
    previousHash: answer.previousblockhash ?? null,
    nextHash: answer.nextblockhash ?? null,
    transactionCount: answer.nTx,
    chainLocked: answer.chainlock ?? null,
  };
}
