import type { ServerResponse } from 'node:http';
import type { Clock } from '../core/time/clock.ts';
import type { WindowFeed } from './window-feed.ts';
import { FilteredWindow, isFiltering, type WindowEvent, type WindowFilter } from './window-filter.ts';

/** Bounds on what listeners can make the server hold. */
export interface EventLimits {
  /** Listeners to events at a time. */
  readonly eventListeners: number;
  /** Events come at least this often, so that silence means a broken connection. */
  readonly eventHeartbeatMs: number;
  /** A listener that takes nothing of what it was sent for so long is dropped. */
  readonly eventStalledMs: number;
}

export const DEFAULT_EVENT_LIMITS: EventLimits = {
  eventListeners: 100,
  eventHeartbeatMs: 10_000,
  eventStalledMs: 30_000,
};

/** The interval at which the window is looked at while there are listeners; without any, never. */
const TICK_MS = 1_000;
/** Bytes that a listener may leave untaken; those without a filter share the memory, as they are sent the same. */
const MAX_BEHIND_BYTES = 4 * 1_048_576;
/** Bytes that all listeners with a filter may leave untaken together: each of them is sent bytes of its own. */
const MAX_OWN_BYTES = 32 * 1_048_576;

interface Listener {
  readonly client: string;
  readonly response: ServerResponse;
  /** null: it hears of every blob. */
  readonly filtered: FilteredWindow | null;
  sentMs: number;
  /** Bytes of its first event until it has taken all of that: the whole window may be larger than what it may leave otherwise. */
  firstBytes: number;
  /** Since when it takes nothing of what it was sent; null: it has taken all. */
  behindSinceMs: number | null;
}

/** First event of a listener, and the window that it goes on with. */
interface Greeting {
  readonly event: Buffer;
  readonly filtered: FilteredWindow | null;
}

/**
 * Everybody who listens. A change is encoded once and handed to all who hear of every blob; a listener with a filter has
 * events of its own. Who comes gets the window whole, or what it missed.
 * When the archive cannot be asked, all streams end: listeners come back and are told so, instead of showing what was.
 */
export class EventListeners {
  readonly #feed: WindowFeed;
  readonly #limits: EventLimits;
  readonly #report: (error: unknown) => void;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #listeners = new Set<Listener>();
  /** Events by their JSON, which the feed makes once for all: those who come together are sent the same bytes. */
  readonly #shared = new WeakMap<Buffer, Buffer>();
  #timer: NodeJS.Timeout | null = null;
  /** Revision up to which all were told. */
  #sent = '';

  constructor(feed: WindowFeed, limits: EventLimits, report: (error: unknown) => void, clock: Pick<Clock, 'steadyMs'>) {
    this.#feed = feed;
    this.#limits = limits;
    this.#report = report;
    this.#clock = clock;
  }

  get count(): number {
    return this.#listeners.size;
  }

  /** Reports whether there is no place for one more of this client. When all are taken, the client that has most of them gives one up. */
  isFullFor(client: string): boolean {
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
   * The first message of a listener: the changes since the revision that it names, else the whole window. Throws what the
   * archive throws.
   */
  greeting(lastRevision: string | undefined, filter: WindowFilter): Greeting {
    const since = lastRevision ?? '';
    if (!isFiltering(filter)) return { event: this.#changesSince(since), filtered: null };
    const filtered = new FilteredWindow(this.#feed, filter);
    return { event: this.#encoded(filtered.greeting(since)), filtered };
  }

  /** The changes since that revision; where those cannot be told, the whole. */
  #changesSince(since: string): Buffer {
    const changes = this.#feed.changesSince(since);
    return changes === null ? this.#sharedEvent('window', this.#feed.whole()) : this.#sharedEvent('change', changes);
  }

  #sharedEvent(name: 'window' | 'change', json: Buffer): Buffer {
    const event = this.#shared.get(json) ?? this.#event(name, json);
    this.#shared.set(json, event);
    return event;
  }

  /** From now on it is sent every change, until it goes or falls behind. Its head is sent already. */
  add(response: ServerResponse, { event, filtered }: Greeting, client: string): void {
    const [sentMs, firstBytes] = [this.#clock.steadyMs(), event.length];
    const listener: Listener = { client, response, filtered, sentMs, firstBytes, behindSinceMs: null };
    if (this.#listeners.size >= this.#limits.eventListeners) {
      const greedy = this.#greedierThan(client);
      if (greedy !== null) {
        this.#remove(greedy);
        greedy.response.end();
      }
    }
    if (this.#listeners.size === 0) {
      this.#sent = this.#feed.revision;
      this.#timer = setInterval(() => this.#tick(), TICK_MS);
    }
    this.#listeners.add(listener);
    response.once('close', () => this.#remove(listener));
    response.on('drain', () => {
      listener.firstBytes = 0;
      listener.behindSinceMs = null;
    });
    this.#send(listener, event);
  }

  #tick(): void {
    const nowMs = this.#clock.steadyMs();
    this.#dropStalled(nowMs);
    try {
      const since = this.#sent;
      const event = this.#changesSince(since);
      this.#sent = this.#feed.revision;
      for (const listener of this.#listeners) {
        const isDue = nowMs - listener.sentMs >= this.#limits.eventHeartbeatMs;
        const own = this.#eventFor(listener, { event, isNew: this.#sent !== since, since, isDue });
        if (own !== null) this.#send(listener, own);
      }
    } catch (error) {
      this.#report(error);
      for (const { response } of this.#listeners) response.destroy();
    }
  }

  /** null: the listener is sent nothing now. */
  #eventFor(
    { filtered }: Listener,
    { event, isNew, since, isDue }: { event: Buffer; isNew: boolean; since: string; isDue: boolean },
  ): Buffer | null {
    if (filtered === null) return isNew || isDue ? event : null;
    const changes = isNew ? filtered.changesSince(since) : null;
    if (changes !== null) return this.#encoded(changes);
    return isDue ? this.#encoded(filtered.heartbeat(since)) : null;
  }

  #send(listener: Listener, event: Buffer): void {
    listener.sentMs = this.#clock.steadyMs();
    if (listener.response.write(event)) return;
    listener.behindSinceMs ??= this.#clock.steadyMs();
    if (listener.filtered !== null) this.#boundOwnBytes();
  }

  /** Drops the listener that is behind longest, until the rest fits. A dropped one comes back and goes on where it was. */
  #boundOwnBytes(): void {
    const own = [...this.#listeners].filter(({ filtered, response }) => filtered !== null && !response.destroyed);
    let bytes = own.reduce((sum, { response }) => sum + response.writableLength, 0);
    const longestFirst = own
      .filter(({ behindSinceMs }) => behindSinceMs !== null)
      .toSorted((a, b) => (a.behindSinceMs ?? 0) - (b.behindSinceMs ?? 0));
    for (const { response } of longestFirst) {
      if (bytes <= MAX_OWN_BYTES) return;
      bytes -= response.writableLength;
      response.destroy();
    }
  }

  #dropStalled(nowMs: number): void {
    for (const { response, firstBytes, behindSinceMs } of this.#listeners) {
      const isStalled = behindSinceMs !== null && nowMs - behindSinceMs > this.#limits.eventStalledMs;
      if (isStalled || response.writableLength > firstBytes + MAX_BEHIND_BYTES) response.destroy();
    }
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #encoded({ name, data }: WindowEvent): Buffer {
    return this.#event(name, Buffer.from(JSON.stringify(data)));
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
