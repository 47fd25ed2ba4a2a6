import { EnvHttpProxyAgent, request } from 'undici';
import type { Pulse } from '../pulse.ts';
import { BACKOFF } from '../time/backoff.ts';
import { type Next, runLoop } from '../time/run-loop.ts';
import { messageOfChain } from './message-of-chain.ts';

export interface HeartbeatOptions {
  /** Somebody who raises an alarm when it is not asked for a while. May carry a token: never shown. */
  readonly url: string;
  readonly everyMs: number;
}

const ANSWER_MS = 10_000;

/** Says "alive, and getting on" to somebody outside, who notices when it stops: a dead machine raises no alarm itself. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  /** Is everything as it should be? Otherwise nothing is sent, and whoever listens raises the alarm. */
  readonly #isHealthy: () => boolean;
  /** Told of each try: null where it was taken. The sentence names no address. */
  readonly #told: (failure: string | null) => void;
  readonly #wait: Pulse['wait'];

  constructor(
    options: HeartbeatOptions,
    isHealthy: () => boolean,
    told: (failure: string | null) => void,
    wait: Pulse['wait'],
  ) {
    this.#options = options;
    this.#isHealthy = isHealthy;
    this.#told = told;
    this.#wait = wait;
  }

  async run(signal: AbortSignal): Promise<void> {
    const dispatcher = new EnvHttpProxyAgent();
    try {
      const step = async (): Promise<Next> => {
        if (this.#isHealthy()) {
          const failure = await this.#beat(dispatcher, signal);
          if (!signal.aborted) this.#told(failure);
        }
        return this.#options.everyMs;
      };
      const tell = (error: unknown) => {
        if (error !== null) this.#told(messageOfChain(error, this.#options.url));
      };
      await runLoop('heartbeat', step, { signal, backoff: BACKOFF.remote, wake: { rings: 0, wait: this.#wait }, tell });
    } finally {
      await dispatcher.destroy();
    }
  }

  /** null: it was taken. */
  async #beat(dispatcher: EnvHttpProxyAgent, signal: AbortSignal): Promise<string | null> {
    try {
      const answer = await request(this.#options.url, {
        dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      });
      await answer.body.dump();
      return answer.statusCode < 300 ? null : `it answered ${answer.statusCode}`;
    } catch (error) {
      return messageOfChain(error, this.#options.url);
    }
  }
}
