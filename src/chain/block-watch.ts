import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainNode } from '../node/chain-node.ts';

/**
 * Milliseconds of one long poll. A blob must be here half a second after the node has its block. Polling the tip twice
 * a second would cost 300 calls between two blocks 150 s apart, twice the archive's whole budget. `waitfornewblock`
 * costs six calls, each of which only holds one of the node's RPC threads. Measured against the emulated node with the
 * real one's costs (test/scenario/budget.test.ts): three blobs of a new block were spooled 209 ms after it at worst, of
 * which 180 ms are the node's. The poller still polls slowly, for nodes and proxies that refuse to wait.
 */
const WAIT_MS = 25_000;
/** Milliseconds until the next long poll of a node that refused, or answered at once without a new block. */
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
      // The poller notifies when the node is on the archive's chain.
      if (!this.#poller.mayFetch) return REST_MS;
      // The pause is fixed: new blobs must not make the archive ask a refusing node more often.
      if (!(await this.#isUseful(signal))) await pause(REST_MS, signal);
      return 0;
    };
    const policy = { signal, backoff: BACKOFF.node, wake: this.#poller.changes, conditions: this.#conditions };
    await runLoop('chain:wait', step, policy);
  }

  async #isUseful(signal: AbortSignal): Promise<boolean> {
    const askedMs = this.#clock.steadyMs();
    try {
      const hash = await this.#node.waitForNewBlock(WAIT_MS, signal);
      if (hash !== this.#poller.state.tip?.hash) {
        this.#poller.wake.wakeUp();
        return true;
      }
      return this.#clock.steadyMs() - askedMs > WAIT_MS / 2;
    } catch {
      // The poller reports a node that does not answer; a node that cannot wait is polled.
      return false;
    }
  }
}
