import type { MetricsRegistry } from '../core/observability/metrics.ts';
import type { Clock } from '../core/time/clock.ts';
import type { RpcBlobNode } from './rpc-blob-node.ts';

/** Records the duration and the outcome of one call to a node. */
export type NodeCallWatch = (node: string, method: string, outcome: 'answered' | 'failed', seconds: number) => void;

export function declareNodeMetrics(metrics: MetricsRegistry): NodeCallWatch {
  const duration = metrics.histogram({
    name: 'holdfast_node_call_duration_seconds',
    help: 'Calls to each node by RPC method. A batch is one call. Calls that Holdfast aborted are not counted.',
    labels: ['node', 'method', 'outcome'],
  });
  return (node, method, outcome, seconds) => duration.observe({ node, method, outcome }, seconds);
}

/** Wraps a node so that each call is recorded. */
export function watchedNode(node: RpcBlobNode, watch: NodeCallWatch, clock: Pick<Clock, 'steadyMs'>): RpcBlobNode {
  async function noted<T>(method: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const begunMs = clock.steadyMs();
    const end = (outcome: 'answered' | 'failed') =>
      watch(node.name, method, outcome, (clock.steadyMs() - begunMs) / 1_000);
    try {
      const answer = await call();
      end('answered');
      return answer;
    } catch (error) {
      if (!signal.aborted) end('failed');
      throw error;
    }
  }
  return {
    name: node.name,
    genesisHash: (signal) => noted('getblockhash', signal, () => node.genesisHash(signal)),
    tip: (signal) => noted('getblockchaininfo', signal, () => node.tip(signal)),
    listBlobs: (page, signal) => noted('listnevmblobdata', signal, () => node.listBlobs(page, signal)),
    fetchBlobs: (wanted, signal) => noted('getnevmblobdata', signal, () => node.fetchBlobs(wanted, signal)),
    blockHashAt: (height, signal) => noted('getblockhash', signal, () => node.blockHashAt(height, signal)),
    blockHashesFrom: (first, count, signal) =>
      noted('getblockhash', signal, () => node.blockHashesFrom(first, count, signal)),
    header: (hash, signal) => noted('getblockheader', signal, () => node.header(hash, signal)),
    rawBlock: (hash, signal) => noted('getblock', signal, () => node.rawBlock(hash, signal)),
    rawBlocks: (hashes, signal) => noted('getblock', signal, () => node.rawBlocks(hashes, signal)),
    spentScripts: (block, txids, signal) =>
      noted('getrawtransaction', signal, () => node.spentScripts(block, txids, signal)),
    bestChainLock: (signal) => noted('getbestchainlock', signal, () => node.bestChainLock(signal)),
    waitForNewBlock: (waitMs, signal) => noted('waitfornewblock', signal, () => node.waitForNewBlock(waitMs, signal)),
    close: () => node.close(),
  };
}
