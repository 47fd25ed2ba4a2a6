import { EnvHttpProxyAgent, request } from 'undici';
import { BACKOFF } from '../time/backoff.ts';
import { type Next, runLoop } from '../time/run-loop.ts';
import { messageOfChain } from './message-of-chain.ts';

export interface HeartbeatOptions {
  /** Somebody who raises an alarm when it is not asked for a while. May carry a token: never shown. */
  readonly url: string;
  readonly everyMs: number;
}

export interface HeartbeatModules {
  /** Is everything as it should be? Otherwise nothing is sent, and whoever listens raises the alarm. */
  readonly isHealthy: () => boolean;
  /** Told of each try: null where it was taken. The sentence names no address. */
  readonly told: (failure: string | null) => void;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const ANSWER_MS = 10_000;

/** Says "alive, and getting on" to somebody outside, who notices when it stops: a dead machine raises no alarm itself. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #modules: HeartbeatModules;

  constructor(options: HeartbeatOptions, modules: HeartbeatModules) {
    this.#options = options;
    this.#modules = modules;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { isHealthy, told, wait } = this.#modules;
    const dispatcher = new EnvHttpProxyAgent();
    try {
      const step = async (): Promise<Next> => {
        if (isHealthy()) {
          const failure = await this.#beat(dispatcher, signal);
          if (!signal.aborted) told(failure);
        }
        return this.#options.everyMs;
      };
      const tell = (error: unknown) => {
        if (error !== null) told(messageOfChain(error, this.#options.url));
      };
      await runLoop('heartbeat', step, { signal, backoff: BACKOFF.remote, wake: { rings: 0, wait }, tell });
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
