import type { Clock } from '../../core/time/clock.ts';
import { pollUntil } from '../../core/time/run-loop.ts';
import type { ChainView, WalkedTip } from '../../view/chain-view.ts';
import { rpcFault } from './rpc-error.ts';

/** Below what balancers cut; a node's own default is for ever. */
const LONGEST_MS = 55_000;
const LOOK_EVERY_MS = 200;
/** Each waiting call holds a connection. */
const MAX_WAITING = 256;
const MAX_WAITING_PER_CLIENT = 16;

/** `waitfornewblock`, answered as soon as the walk has another tip, or with the present one when the time is over. */
export class BlockWait {
  readonly #waiting = new Map<string, number>();
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #count = 0;

  constructor(clock: Pick<Clock, 'steadyMs'>) {
    this.#clock = clock;
  }

  async next(chain: ChainView, timeoutMs: number, client: string, signal: AbortSignal): Promise<object> {
    const ofClient = this.#waiting.get(client) ?? 0;
    if (this.#count >= MAX_WAITING || ofClient >= MAX_WAITING_PER_CLIENT)
      throw rpcFault('Too many wait for a block already', 5);
    const before = tipOf(chain);
    const endMs = this.#clock.steadyMs() + (timeoutMs > 0 ? Math.min(timeoutMs, LONGEST_MS) : LONGEST_MS);
    this.#note(client, 1);
    try {
      const look = (): object | null => {
        const { hash, height } = tipOf(chain);
        return hash !== before.hash || endMs <= this.#clock.steadyMs() ? { hash, height } : null;
      };
      return await pollUntil(look, () => Math.min(LOOK_EVERY_MS, endMs - this.#clock.steadyMs()), signal);
    } finally {
      this.#note(client, -1);
    }
  }

  #note(client: string, change: 1 | -1): void {
    this.#count += change;
    const waiting = (this.#waiting.get(client) ?? 0) + change;
    if (waiting === 0) this.#waiting.delete(client);
    else this.#waiting.set(client, waiting);
  }
}

function tipOf(chain: ChainView): WalkedTip {
  const lookup = chain.tip();
  if (lookup.kind === 'unavailable') throw rpcFault(lookup.message, lookup.retryAfterSeconds);
  return lookup.tip;
}
