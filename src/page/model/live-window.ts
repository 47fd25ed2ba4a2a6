import { type ArchiveApi, Refused } from './archive-api.ts';
import { readEvents } from './event-reader.ts';
import { UnexpectedAnswer } from './fields.ts';
import { changeWindow, decodeWindow, type PageWindow } from './window.ts';

/** What is known of the window, and whether it is so now. Only `live` is. */
export type LiveState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live'; readonly window: PageWindow }
  | {
      readonly kind: 'lost';
      /** By this machine's clock. */
      readonly sinceMs: number;
      readonly retryAtMs: number;
      readonly why: string;
      /** As it was then; null: it was never seen. */
      readonly last: PageWindow | null;
    }
  | { readonly kind: 'needs-token'; readonly wasRefused: boolean }
  /** It serves bytes and proofs, and follows no chain. */
  | { readonly kind: 'no-window' };

export interface LiveTiming {
  /** Two heartbeats of the archive, and some more. */
  readonly silenceMs: number;
  readonly firstRetryMs: number;
  readonly mostRetryMs: number;
}

export const LIVE_TIMING: LiveTiming = { silenceMs: 25_000, firstRetryMs: 500, mostRetryMs: 15_000 };

interface LiveModules {
  readonly api: ArchiveApi;
  readonly hasToken: () => boolean;
  readonly show: (state: LiveState) => void;
  readonly nowMs: () => number;
}

/** Follows the window, and comes back by itself after every interruption, where it was. */
export class LiveWindow {
  readonly #modules: LiveModules;
  readonly #timing: LiveTiming;
  #window: PageWindow | null = null;
  #lastEventId: string | null = null;
  #lostSinceMs: number | null = null;
  #failures = 0;
  #running: AbortController | null = null;
  #wake: () => void = () => undefined;

  constructor(modules: LiveModules, timing: LiveTiming = LIVE_TIMING) {
    this.#modules = modules;
    this.#timing = timing;
  }

  /** Begins, or begins anew: with another token, or because somebody does not want to wait. */
  start(): void {
    this.stop();
    const running = new AbortController();
    this.#running = running;
    void this.#run(running.signal);
  }

  stop(): void {
    this.#running?.abort();
    this.#running = null;
    this.#wake();
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (this.#window === null && this.#lostSinceMs === null) this.#modules.show({ kind: 'connecting' });
    while (!signal.aborted) {
      const error = await this.#follow(signal).catch((thrown: unknown) => thrown);
      if (signal.aborted || this.#isGivenUp(error)) return;
      await this.#pause(error, signal);
    }
  }

  /** Ends when the archive ends it, and throws when anything goes wrong. */
  async #follow(signal: AbortSignal): Promise<Error> {
    const headers = this.#lastEventId === null ? {} : { 'last-event-id': this.#lastEventId };
    const answer = await this.#modules.api.ask('v1/events', { signal, headers });
    if (answer.body === null) throw new UnexpectedAnswer('The archive sent no events.');
    for await (const event of readEvents(answer.body, this.#timing.silenceMs)) {
      if (signal.aborted) break;
      this.#take(event.name, JSON.parse(event.data));
      this.#lastEventId = event.id;
    }
    return new Error('The archive ended the connection.');
  }

  #take(name: string, data: unknown): void {
    if (name === 'window') this.#window = decodeWindow(data);
    else if (name === 'change' && this.#window !== null) this.#window = changeWindow(this.#window, data);
    else return;
    this.#failures = 0;
    this.#lostSinceMs = null;
    this.#modules.show({ kind: 'live', window: this.#window });
  }

  /** true: asking again would be answered the same. */
  #isGivenUp(error: unknown): boolean {
    if (!(error instanceof Refused)) return false;
    if (error.status === 401) {
      this.#modules.show({ kind: 'needs-token', wasRefused: this.#modules.hasToken() });
      return true;
    }
    if (error.code !== 'chain/not-walked') return false;
    this.#modules.show({ kind: 'no-window' });
    return true;
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    // What cannot be read cannot be gone on from.
    if (error instanceof UnexpectedAnswer || error instanceof SyntaxError) this.#lastEventId = null;
    const nowMs = this.#modules.nowMs();
    this.#lostSinceMs ??= nowMs;
    const { firstRetryMs, mostRetryMs } = this.#timing;
    const waitMs = Math.min(mostRetryMs, firstRetryMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#modules.show({
      kind: 'lost',
      sinceMs: this.#lostSinceMs,
      retryAtMs: nowMs + waitMs,
      why: error instanceof Error ? error.message : String(error),
      last: this.#window,
    });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (signal.aborted) this.#wake();
    });
  }
}
