import { join } from 'node:path';
import type { Dialect } from '../node/method-table.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import type { Network } from './chain/emulated-chain.ts';
import { RECORDED_BLOBS } from './chain/recorded-blobs.ts';
import type { DevnodeOptions } from './devnode-options.ts';
import { alterReply, refuseCall } from './faults/altered-reply.ts';
import type { FaultBoard } from './faults/fault-board.ts';
import { HexCache } from './hex-cache.ts';
import { HttpServer } from './http-server.ts';
import { nullJournal, openJournal } from './journal.ts';
import { NodeState, systemClock } from './node-state.ts';
import { Dispatcher } from './rpc/dispatcher.ts';
import { answerBody, type RpcCall } from './rpc/envelope.ts';
import type { CallSite, NodeContext } from './rpc/node-context.ts';
import type { Reply } from './rpc/reply.ts';
import { BytesInFolder, BytesInMemory } from './submitted-bytes.ts';

const DEFAULT_HEX_CACHE_BYTES = 64 * 1024 * 1024;
const DEFAULT_INITIAL_BLOCKS = 120;
const DEFAULT_WALLETS = ['w'];
const DEFAULT_KEEP_ALIVE_MS = 30_000;

/** Opens the chain of these options: a new one, or the one that the folder holds. */
export function openState(options: DevnodeOptions): NodeState {
  const network: Network = options.network ?? 'main';
  const locks: ChainLockPolicy = network === 'main' ? { kind: 'follow', lagBlocks: 1 } : { kind: 'none' };
  const dataDir = options.dataDir ?? null;
  const journal = dataDir === null ? nullJournal : openJournal(dataDir);
  const state = new NodeState({
    seed: options.seed ?? 'devnode',
    network,
    chainLocks: options.chainLocks ?? locks,
    initialBlocks: options.initialBlocks ?? DEFAULT_INITIAL_BLOCKS,
    clock: options.clock ?? systemClock,
    journal,
    wallets: options.wallets ?? DEFAULT_WALLETS,
    bytes: dataDir === null ? new BytesInMemory() : new BytesInFolder(join(dataDir, 'blobs')),
  });
  if (options.seedRecordedBlobs === true && journal.kept.length === 0) {
    for (const content of RECORDED_BLOBS) state.submit({ content, acceptable: true, feeSatsPerVbyte: null });
    state.mine();
  }
  return state;
}

/** Starts the node's HTTP server in front of the chain. */
export function listen(
  options: DevnodeOptions,
  state: NodeState,
  dialect: Dialect,
  faults: FaultBoard,
): Promise<HttpServer> {
  const dispatcher = new Dispatcher(dialect);
  const hexCache = new HexCache(options.hexCacheBytes ?? DEFAULT_HEX_CACHE_BYTES);
  const context: NodeContext = {
    dialect,
    state,
    chain: state.chain,
    assets: state.assets,
    wallets: options.wallets ?? DEFAULT_WALLETS,
    hexOf: (content) => hexCache.hexOf(content),
    startedAtSeconds: state.nowSeconds(),
    hasTransactionIndex: options.transactionIndex ?? true,
    hasUndoData: options.undoData ?? true,
    spend: options.costModel === true ? oneLock() : () => Promise.resolve(),
  };
  const perform = async (call: RpcCall, site: CallSite): Promise<Reply> => {
    const hits = faults.takeAnswer(call);
    for (const { fault } of hits) refuseCall(fault);
    const reply = await dispatcher.perform(call, context, site);
    return hits.reduce((altered, { fault, hit }) => alterReply(altered, fault, hit), reply);
  };
  return HttpServer.listen({
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    username: options.username ?? 'devnode',
    password: options.password ?? 'devnode',
    keepAliveMs: options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS,
    faults,
    answer: (body, walletName, signal) => answerBody(body, (call) => perform(call, { walletName, signal })),
  });
}

/** Models the node's main lock: it serves one call at a time, each for the duration of its cost. */
function oneLock(): (milliseconds: number) => Promise<void> {
  let free = Promise.resolve();
  return (milliseconds) => {
    free = free.then(() => new Promise((resolve) => setTimeout(resolve, milliseconds)));
    return free;
  };
}
