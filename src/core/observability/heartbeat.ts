import { EnvHttpProxyAgent, request } from 'undici';
import type { Notifier } from '../notifier.ts';
import { BACKOFF } from '../time/backoff.ts';
import { type Next, runLoop } from '../time/run-loop.ts';
import { messageOfChain } from './message-of-chain.ts';

export interface HeartbeatOptions {
  /** Address of the service that raises an alarm when the pings stop. May contain a token: never shown. */
  readonly url: string;
  readonly everyMs: number;
}

const ANSWER_MS = 10_000;

/** Pings an outside service, which notices when the pings stop: a dead machine raises no alarm itself. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  /** Reports whether the archive is healthy. Otherwise nothing is sent, and the outside service raises the alarm. */
  readonly #isHealthy: () => boolean;
  /** Receives the result of each ping: null when it arrived, else a sentence without the address. */
  readonly #told: (failure: string | null) => void;
  readonly #wait: Notifier['wait'];

  constructor(
    options: HeartbeatOptions,
    isHealthy: () => boolean,
    told: (failure: string | null) => void,
    wait: Notifier['wait'],
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
      await runLoop('heartbeat', step, {
        signal,
        backoff: BACKOFF.remote,
        wake: { notifications: 0, wait: this.#wait },
        tell,
      });
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
