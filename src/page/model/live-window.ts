import { type ArchiveApi, Refused } from './archive-api.ts';
import { readEvents } from './event-reader.ts';
import { UnexpectedAnswer } from './fields.ts';
import { changeWindow, decodeWindow, type PageWindow } from './window.ts';

/** State of the connection. Only `live` means that the window is current. */
export type LiveState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live'; readonly window: PageWindow }
  | {
      readonly kind: 'lost';
      /** Unix milliseconds of the browser's clock. */
      readonly sinceMs: number;
      readonly retryAtMs: number;
      readonly why: string;
      /** The last window that arrived; null when none has. */
      readonly last: PageWindow | null;
    }
  | { readonly kind: 'needs-token'; readonly wasRefused: boolean }
  /** The server is a stateless reader: it serves bytes and proofs and follows no chain. */
  | { readonly kind: 'no-window' };

export interface LiveTiming {
  /**
   * Milliseconds without an event after which the connection counts as lost: two heartbeats of the archive and some
   * slack.
   */
  readonly silenceMs: number;
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
}

export const LIVE_TIMING: LiveTiming = { silenceMs: 25_000, firstRetryMs: 500, maxRetryMs: 15_000 };

/** Follows the window. It reconnects after every interruption and continues after the last event. */
export class LiveWindow {
  readonly #api: ArchiveApi;
  readonly #hasToken: () => boolean;
  readonly #show: (state: LiveState) => void;
  readonly #nowMs: () => number;
  readonly #timing: LiveTiming;
  #window: PageWindow | null = null;
  #lastEventId: string | null = null;
  #lostSinceMs: number | null = null;
  #failures = 0;
  #running: AbortController | null = null;
  #wake: () => void = () => undefined;

  constructor(
    api: ArchiveApi,
    hasToken: () => boolean,
    show: (state: LiveState) => void,
    nowMs: () => number,
    timing: LiveTiming = LIVE_TIMING,
  ) {
    this.#api = api;
    this.#hasToken = hasToken;
    this.#show = show;
    this.#nowMs = nowMs;
    this.#timing = timing;
  }

  /** Connects, or reconnects at once: after a new token, or when the person does not want to wait. */
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
    if (this.#window === null && this.#lostSinceMs === null) this.#show({ kind: 'connecting' });
    while (!signal.aborted) {
      const error = await this.#follow(signal).catch((thrown: unknown) => thrown);
      if (signal.aborted || this.#isGivenUp(error)) return;
      await this.#pause(error, signal);
    }
  }

  /** Resolves when the archive closes the stream; rejects when anything fails. */
  async #follow(signal: AbortSignal): Promise<Error> {
    const headers = this.#lastEventId === null ? {} : { 'last-event-id': this.#lastEventId };
    const answer = await this.#api.ask('v1/events', { signal, headers });
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
    this.#show({ kind: 'live', window: this.#window });
  }

  /** true when a retry would get the same answer. */
  #isGivenUp(error: unknown): boolean {
    if (!(error instanceof Refused)) return false;
    if (error.status === 401) {
      this.#show({ kind: 'needs-token', wasRefused: this.#hasToken() });
      return true;
    }
    if (error.code !== 'chain/not-walked') return false;
    this.#show({ kind: 'no-window' });
    return true;
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    // The stream cannot continue after an unreadable event, so the next connection starts with the whole window.
    if (error instanceof UnexpectedAnswer || error instanceof SyntaxError) this.#lastEventId = null;
    const nowMs = this.#nowMs();
    this.#lostSinceMs ??= nowMs;
    const { firstRetryMs, maxRetryMs } = this.#timing;
    const waitMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#show({
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
