import type { Clock } from '../core/time/clock.ts';
import type { ArchiveView } from '../view/archive-view.ts';
import type { WindowView } from '../view/window-view.ts';
import { type Answer, bodyOf } from './answer.ts';
import type { HttpOptions } from './config.ts';
import { DEFAULT_EVENT_LIMITS, type EventLimits, EventListeners } from './event-listeners.ts';
import { NOTHING } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { inWords, type PublicWords } from './public-words.ts';
import { guarded } from './report.ts';
import { defineRoute, type Route } from './route.ts';
import { WindowFeed } from './window-feed.ts';
import { EVENTS_QUERY, isFiltering } from './window-filter.ts';
import { WINDOW } from './window-on-wire.ts';

/** The window as of now, and everybody who listens to its changes. */
export interface LiveWindow {
  readonly feed: WindowFeed;
  readonly listeners: EventListeners;
  /** Whether the archive asks who sent the blobs of each block. */
  readonly learnsSenders: boolean;
}

/** A filtered window is made for one listener alone: some milliseconds of work where much passes the filter. */
const REQUESTS_A_FILTER = 16;
const STATE_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' } as const;
const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // nginx would hold the events back until it has some kilobytes of them.
  'x-accel-buffering': 'no',
} as const;

export interface LiveWindowOptions {
  /** The names of places for the public. */
  readonly words: PublicWords;
  readonly learnsSenders: boolean;
  readonly limits?: Partial<EventLimits>;
  readonly clock: Clock;
  readonly onServerError: HttpOptions['onServerError'];
}

/** Makes the window that listeners of every server share, so that it is looked at once for all. */
export function liveWindow(view: Pick<ArchiveView, 'status'>, window: WindowView, how: LiveWindowOptions): LiveWindow {
  const { words, learnsSenders, limits, clock, onServerError } = how;
  // One picture is made for all who listen, so it is made for the public.
  const feed = new WindowFeed({ status: () => inWords(view.status(), words) }, window, clock.wallMs);
  const report = guarded(onServerError);
  const bounds = { ...DEFAULT_EVENT_LIMITS, ...limits };
  const listeners = new EventListeners(feed, bounds, (error) => report(error, 'events'), clock);
  return { feed, listeners, learnsSenders };
}

/** The window, for people to look at. `live` null: this process follows no chain, and says so. */
export function windowRoutes(live: LiveWindow | null): Route[] {
  return [
    defineRoute({
      path: '/v1/window',
      says: 'The current window block by block: what is spooled, stored, final, at risk or lost.',
      answers: [{ mediaType: 'application/json', schema: WINDOW }],
      problems: ['chain/not-walked'],
      parameters: NOTHING,
      query: NOTHING,
      answer: () =>
        live === null ? noWindow() : { status: 200, headers: STATE_HEADERS, body: bodyOf(live.feed.whole()) },
    }),
    {
      ...defineRoute({
        path: '/v1/events',
        says: 'Server-sent events: `window` is the whole of it, `change` what is new since; goes on at Last-Event-ID. With a filter, blocks name only the blobs that pass it, and a change of others is no event: a block that comes without blobs has none for this listener any more. `status` is then as of the last event.',
        answers: [{ mediaType: 'text/event-stream', schema: null }],
        problems: ['chain/not-walked', 'events/senders-unknown'],
        parameters: NOTHING,
        query: EVENTS_QUERY,
        countRequests: ({ query }) => (isFiltering(EVENTS_QUERY.catch({}).parse(query)) ? REQUESTS_A_FILTER : 1),
        answer: ({ query }) => {
          if (live === null) return noWindow();
          const { sender } = EVENTS_QUERY.parse(query);
          return sender === undefined || live.learnsSenders
            ? { status: 200, headers: EVENT_HEADERS, body: null }
            : noSenders();
        },
      }),
      stream({ header, client, query }) {
        const filter = EVENTS_QUERY.parse(query);
        if (live === null) return noWindow();
        if (filter.sender !== undefined && !live.learnsSenders) return noSenders();
        if (live.listeners.isFullFor(client)) return problemAnswer('http/too-busy', 'As many listen already as may.');
        const greeting = live.listeners.greeting(header('last-event-id'), filter);
        return { headers: EVENT_HEADERS, listen: (response) => live.listeners.add(response, greeting, client) };
      },
    },
  ];
}

/** A filter that nothing could pass would look like a chain without blobs. */
function noSenders(): Answer {
  return problemAnswer(
    'events/senders-unknown',
    'No blob of this archive has a known sender, so none passes a filter by sender.',
  );
}

function noWindow(): Answer {
  return problemAnswer('chain/not-walked', 'This process does not walk the chain; ask the archiver.', {
    retryAfterSeconds: 60,
  });
}
