import { z } from 'zod';
import type { BlockHash } from '../../core/blob/ids.ts';
import { checkWholeNumber } from '../arguments.ts';
import type { NodeClient } from '../client.ts';
import { blockHash, decode, height, seconds } from '../decode.ts';
import { versionText } from '../dialect-rules.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';

/** Builds a call with optional parameters. */
export function simpleCall<T>(
  operation: NodeCall<T>['operation'],
  read: (result: unknown) => T,
  named: Readonly<Record<string, unknown>> = {},
): NodeCall<T> {
  return { operation, named, limitBytes: SMALL_ANSWER_BYTES, decode: read };
}

export interface NetworkInfo {
  /** Numeric version, such as 50101. */
  readonly version: number;
  /** Version as text, such as 5.1.1. */
  readonly release: string;
  readonly subversion: string;
  readonly connections: number;
}

const network = z.object({ version: z.int().positive(), subversion: z.string(), connections: z.int().nonnegative() });

export function networkInfoCall(): NodeCall<NetworkInfo> {
  return simpleCall('getNetworkInfo', (result) => {
    const info = decode(network, result, 'getNetworkInfo');
    return { ...info, release: versionText(info.version) };
  });
}

export async function getNetworkInfo(client: NodeClient, options: CallOptions = {}): Promise<NetworkInfo> {
  return client.run(networkInfoCall(), options);
}

export interface BlockchainInfo {
  /** Network: `main`, `test`, `regtest`… */
  readonly chain: string;
  readonly height: number;
  readonly headers: number;
  readonly bestBlockHash: BlockHash;
  readonly medianTimeSeconds: number;
  readonly initialBlockDownload: boolean;
  readonly pruned: boolean;
}

const blockchain = z.object({
  chain: z.string(),
  blocks: height,
  headers: height,
  bestblockhash: blockHash,
  mediantime: seconds,
  initialblockdownload: z.boolean(),
  pruned: z.boolean().default(false),
});

export function blockchainInfoCall(): NodeCall<BlockchainInfo> {
  return simpleCall('getBlockchainInfo', (result) => {
    const info = decode(blockchain, result, 'getBlockchainInfo');
    return {
      chain: info.chain,
      height: info.blocks,
      headers: info.headers,
      bestBlockHash: info.bestblockhash,
      medianTimeSeconds: info.mediantime,
      initialBlockDownload: info.initialblockdownload,
      pruned: info.pruned,
    };
  });
}

export async function getBlockchainInfo(client: NodeClient, options: CallOptions = {}): Promise<BlockchainInfo> {
  return client.run(blockchainInfoCall(), options);
}

export interface ChainTip {
  readonly height: number;
  readonly hash: BlockHash;
  /** `active`, `valid-fork`, `valid-headers`, `headers-only`, `invalid`, or a word of a later release. */
  readonly status: string;
  /** Blocks since the fork from the active branch. */
  readonly branchLength: number;
}

const tips = z.array(z.object({ height, hash: blockHash, branchlen: z.int().nonnegative(), status: z.string() }));

export function chainTipsCall(): NodeCall<ChainTip[]> {
  return simpleCall('getChainTips', (result) =>
    decode(tips, result, 'getChainTips').map(({ branchlen, ...tip }) => ({ ...tip, branchLength: branchlen })),
  );
}

export async function getChainTips(client: NodeClient, options: CallOptions = {}): Promise<ChainTip[]> {
  return client.run(chainTipsCall(), options);
}

export interface BestChainLock {
  readonly height: number;
  readonly hash: BlockHash;
  /** false: the node lacks the locked block. null: the node does not report it. */
  readonly knownBlock: boolean | null;
}

const chainLock = z.object({ blockhash: blockHash, height, known_block: z.boolean().optional() });
const RPC_INTERNAL_ERROR = -32603;

/** The best ChainLock. null: the network has none, or the node has received none; its answer is the same. */
export function bestChainLockCall(): NodeCall<BestChainLock | null> {
  return {
    ...simpleCall<BestChainLock | null>('getBestChainLock', (result) => {
      const { blockhash, height: at, known_block } = decode(chainLock, result, 'getBestChainLock');
      return { height: at, hash: blockhash, knownBlock: known_block ?? null };
    }),
    recover: (rpcCode, rpcMessage) =>
      rpcCode === RPC_INTERNAL_ERROR && /unable to find any chainlock/i.test(rpcMessage) ? null : undefined,
  };
}

export async function getBestChainLock(client: NodeClient, options: CallOptions = {}): Promise<BestChainLock | null> {
  return client.run(bestChainLockCall(), options);
}

export interface NewBlock {
  readonly height: number;
  readonly hash: BlockHash;
}

const newBlock = z.object({ hash: blockHash, height });

/** Waits for a new tip. `waitMs` 0: without limit, except for the time limit of the call. */
export function waitForNewBlockCall(waitMs: number): NodeCall<NewBlock> {
  checkWholeNumber(waitMs, 'waitMs');
  const read = (result: unknown) => decode(newBlock, result, 'waitForNewBlock');
  return { ...simpleCall('waitForNewBlock', read, { timeout: waitMs }), waitsMs: waitMs };
}

/** Resolves to the new tip, or to the old one after `waitMs`. Occupies one of the node's few RPC threads. */
export async function waitForNewBlock(
  client: NodeClient,
  waitMs: number,
  options: CallOptions = {},
): Promise<NewBlock> {
  return client.run(waitForNewBlockCall(waitMs), options);
}

export function uptimeCall(): NodeCall<number> {
  return simpleCall('uptime', (result) => decode(seconds, result, 'uptime'));
}

/** Seconds since the node started. */
export async function uptime(client: NodeClient, options: CallOptions = {}): Promise<number> {
  return client.run(uptimeCall(), options);
}
