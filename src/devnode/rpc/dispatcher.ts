import { type Dialect, METHOD_TABLE, type Operation, type WireMethod, wireMethod } from '../../node/method-table.ts';
import * as assets from './asset-operations.ts';
import { createBlob, createRawBlob, getBlob, listBlobs } from './blob-operations.ts';
import * as chain from './chain-operations.ts';
import { getNetworkInfo, uptime } from './control-operations.ts';
import type { RpcCall } from './envelope.ts';
import { helpText, oneLine } from './help-text.ts';
import type { CallSite, Handler, NodeContext } from './node-context.ts';
import { Params } from './params.ts';
import type { Reply } from './reply.ts';
import { RpcError } from './rpc-error.ts';
import * as transactions from './transaction-operations.ts';
import { walletOf } from './wallet-rules.ts';

const HANDLERS: Readonly<Record<Operation, Handler>> = {
  createBlob,
  createRawBlob,
  listBlobs,
  getBlob,
  assetInfo: assets.assetInfo,
  assetAllocationBalance: assets.assetAllocationBalance,
  assetAllocationSend: assets.assetAllocationSend,
  assetAllocationSendMany: assets.assetAllocationSendMany,
  getNetworkInfo,
  uptime,
  getBlockchainInfo: chain.getBlockchainInfo,
  getBlockCount: chain.getBlockCount,
  getBestBlockHash: chain.getBestBlockHash,
  getBlockHash: chain.getBlockHash,
  getBlockHeader: chain.getBlockHeader,
  getBlock: chain.getBlock,
  getBestChainLock: chain.getBestChainLock,
  getChainTips: chain.getChainTips,
  waitForNewBlock: chain.waitForNewBlock,
  getRawTransaction: transactions.getRawTransaction,
  getTxOutProof: transactions.getTxOutProof,
  verifyTxOutProof: transactions.verifyTxOutProof,
  getRawMempool: transactions.getRawMempool,
  getMempoolInfo: transactions.getMempoolInfo,
};

interface Route {
  readonly wire: WireMethod;
  readonly handler: Handler;
  readonly needsWallet: boolean;
}

/** Maps a method name of the dialect to its handler. */
export class Dispatcher {
  readonly #routes = new Map<string, Route>();

  constructor(dialect: Dialect) {
    for (const [operation, spec] of Object.entries(METHOD_TABLE)) {
      if (!isOperation(operation)) continue;
      const wire = wireMethod(operation, dialect);
      if (wire === null) continue;
      this.#routes.set(wire.method, { wire, handler: HANDLERS[operation], needsWallet: spec.path === 'wallet' });
    }
    this.#addOwn({ method: 'getchainlocks', params: [] }, chain.getChainLocks);
    this.#addOwn({ method: 'help', params: [{ name: 'command', type: 'string', optional: true }] }, (params) =>
      this.#help(params.optionalString('command')),
    );
  }

  async perform(call: RpcCall, node: NodeContext, site: CallSite): Promise<Reply> {
    const route = this.#routes.get(call.method);
    if (route === undefined) throw new RpcError('methodNotFound', 'Method not found');
    const params = Params.check(route.wire, call.params);
    if (route.needsWallet) walletOf(node, site);
    return await route.handler(params, node, site);
  }

  /** Adds a method that the emulator has and Holdfast's client does not use. */
  #addOwn(wire: WireMethod, handler: Handler): void {
    this.#routes.set(wire.method, { wire, handler, needsWallet: false });
  }

  #help(command: string | null): string {
    if (command === null) return [...this.#routes.values()].map(({ wire }) => oneLine(wire)).join('\n');
    const route = this.#routes.get(command);
    return route === undefined ? `help: unknown command: ${command}` : helpText(route.wire);
  }
}

function isOperation(name: string): name is Operation {
  return name in HANDLERS;
}
