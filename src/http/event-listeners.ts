import type { ServerResponse } from 'node:http';
import type { HttpLimits } from './config.ts';
import type { WindowFeed } from './window-feed.ts';

type EventLimits = Pick<HttpLimits, 'eventListeners' | 'eventHeartbeatMs' | 'eventStalledMs'>;

/** How often the window is looked at while somebody listens; nobody listening, never. */
const TICK_MS = 1_000;
/** What a listener may leave untaken; the memory is shared by all that are sent the same. */
const MAX_BEHIND_BYTES = 4 * 1_048_576;

interface Listener {
  readonly client: string;
  readonly response: ServerResponse;
  /** Since when it takes nothing of what it was sent; null: it has taken all. */
  behindSinceMs: number | null;
}

/**
 * Everybody who listens. A change is encoded once and handed to all; who comes gets the window whole, or what it missed.
 * When the archive cannot be asked, all are let go: they come back, and are told so, instead of showing what was.
 */
export class EventListeners {
  readonly #feed: WindowFeed;
  readonly #limits: EventLimits;
  readonly #report: (error: unknown) => void;
  readonly #steadyMs: () => number;
  readonly #listeners = new Set<Listener>();
  #timer: NodeJS.Timeout | null = null;
  /** Of the last event that all were sent. */
  #sent = '';
  #sentMs = 0;
  #isClosed = false;

  constructor(
    feed: WindowFeed,
    limits: EventLimits,
    report: (error: unknown) => void,
    steadyMs = () => performance.now(),
  ) {
    this.#feed = feed;
    this.#limits = limits;
    this.#report = report;
    this.#steadyMs = steadyMs;
  }

  get count(): number {
    return this.#listeners.size;
  }

  /** Is there no place for one more of this client? Where all are taken, the client that has most of them gives one up. */
  isFullFor(client: string): boolean {
    if (this.#isClosed) return true;
    return this.#listeners.size >= this.#limits.eventListeners && this.#greedierThan(client) === null;
  }

  /** The oldest listener of the client that has most, where that is more than this client has with one more. */
  #greedierThan(client: string): Listener | null {
    const byClient = Map.groupBy(this.#listeners, (listener) => listener.client);
    const own = byClient.get(client)?.length ?? 0;
    const [most] = [...byClient.values()].toSorted((a, b) => b.length - a.length);
    return most !== undefined && most.length > own + 1 ? (most[0] ?? null) : null;
  }

  /**
   * What a listener is to get first: the changes since the revision that it names, else the whole window. Throws what the
   * archive throws.
   */
  greeting(lastRevision: string | undefined): Buffer {
    return this.#news(lastRevision ?? '');
  }

  /** What is new since that revision; where that cannot be told, the whole. */
  #news(since: string): Buffer {
    const changes = this.#feed.changesSince(since);
    return changes === null ? this.#event('window', this.#feed.whole()) : this.#event('change', changes);
  }

  /** From now on it is sent every change, until it goes or falls behind. Its head is sent already. */
  add(response: ServerResponse, greeting: Buffer, client: string): void {
    const listener: Listener = { client, response, behindSinceMs: null };
    if (this.#listeners.size >= this.#limits.eventListeners) {
      const greedy = this.#greedierThan(client);
      if (greedy !== null) {
        this.#remove(greedy);
        greedy.response.end();
      }
    }
    if (this.#listeners.size === 0) {
      this.#sent = this.#feed.revision;
      this.#sentMs = this.#steadyMs();
      this.#timer = setInterval(() => this.#tick(), TICK_MS);
    }
    this.#listeners.add(listener);
    response.once('close', () => this.#remove(listener));
    response.on('drain', () => {
      listener.behindSinceMs = null;
    });
    this.#send(listener, greeting);
  }

  /** The server stops: everybody is let go, and nobody comes any more. */
  close(): void {
    this.#isClosed = true;
    for (const { response } of this.#listeners) response.end();
  }

  #tick(): void {
    const nowMs = this.#steadyMs();
    this.#dropStalled(nowMs);
    try {
      const event = this.#news(this.#sent);
      const isDue = nowMs - this.#sentMs >= this.#limits.eventHeartbeatMs;
      if (this.#feed.revision === this.#sent && !isDue) return;
      this.#sent = this.#feed.revision;
      this.#sentMs = nowMs;
      for (const listener of this.#listeners) this.#send(listener, event);
    } catch (error) {
      this.#report(error);
      for (const { response } of this.#listeners) response.destroy();
    }
  }

  #send(listener: Listener, event: Buffer): void {
    if (!listener.response.write(event)) listener.behindSinceMs ??= this.#steadyMs();
  }

  #dropStalled(nowMs: number): void {
    for (const { response, behindSinceMs } of this.#listeners) {
      const isStalled = behindSinceMs !== null && nowMs - behindSinceMs > this.#limits.eventStalledMs;
      if (isStalled || response.writableLength > MAX_BEHIND_BYTES) response.destroy();
    }
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** JSON has no line breaks, so one line of data is all of it. */
  #event(name: 'window' | 'change', json: Buffer): Buffer {
    return Buffer.concat([
      Buffer.from(`event: ${name}\nid: ${this.#feed.revision}\ndata: `),
      json,
      Buffer.from('\n\n'),
    ]);
  }
}
