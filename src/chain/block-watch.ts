import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainNode } from '../node/chain-node.ts';

/**
 * Why a long poll: a blob is to be here half a second after the node has its block. Asking for the tip would have to
 * happen twice a second for that, 300 calls between two blocks 150 s apart, twice of what the archive may cost in all;
 * `waitfornewblock` costs six, each of which does nothing but hold one of the node's RPC threads. Measured against the
 * emulated node with the real one's costs (test/scenario/budget.test.ts): three blobs of a new block spooled 209 ms
 * after it at worst, 180 of which are the node's own; five calls a block besides their gets. The slow polling of the
 * poller stays beneath it, for nodes and proxies that refuse to wait.
 */
const WAIT_MS = 25_000;
/** A node that refuses, or answers at once without a new block, is left alone for this long. */
const REST_MS = 5_000;

/** Wakes the poller as soon as the node has a new block. */
export class BlockWatch {
  readonly #node: ChainNode;
  readonly #poller: Poller;
  readonly #conditions: ConditionBoard;
  readonly #clock: Pick<Clock, 'steadyMs'>;

  constructor(node: ChainNode, poller: Poller, conditions: ConditionBoard, clock: Pick<Clock, 'steadyMs'>) {
    this.#node = node;
    this.#poller = poller;
    this.#conditions = conditions;
    this.#clock = clock;
  }

  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      // It rings when the node turned out to be on our chain.
      if (!this.#poller.mayFetch) return REST_MS;
      // No news ends this pause: a node that refuses is not asked more often because blobs come.
      if (!(await this.#isUseful(signal))) await pause(REST_MS, signal);
      return 0;
    };
    const policy = { signal, backoff: BACKOFF.node, wake: this.#poller.news, conditions: this.#conditions };
    await runLoop('chain:wait', step, policy);
  }

  async #isUseful(signal: AbortSignal): Promise<boolean> {
    const askedMs = this.#clock.steadyMs();
    try {
      const hash = await this.#node.waitForNewBlock(WAIT_MS, signal);
      if (hash !== this.#poller.state.tip?.hash) {
        this.#poller.wake.nudge();
        return true;
      }
      return this.#clock.steadyMs() - askedMs > WAIT_MS / 2;
    } catch {
      // The poller tells of a node that does not answer; one that cannot wait is polled.
      return false;
    }
  }
}
