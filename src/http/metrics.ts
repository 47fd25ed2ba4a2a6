import { setImmediate } from 'node:timers/promises';
import type { MetricsRegistry } from '../core/observability/metrics.ts';
import { bodyOf } from './answer.ts';
import { NOTHING } from './parameters.ts';
import { ALL_WORDS, type PublicWords } from './public-words.ts';
import { defineRoute, type Route } from './route.ts';

/** `port`: for everybody; `socket`: for the other commands on the machine. Each has memory of its own. */
export type HttpListener = 'port' | 'socket';

/** Figures of the memory that requests and answers share. */
export interface AnswerMemory {
  readonly heldBytes: number;
  readonly limitBytes: number;
  /** Since the start, as `cut`. */
  readonly refused: number;
  readonly cut: number;
}

/** The metrics of the HTTP room, and the route that all metrics are read by. */
export interface HttpMetrics {
  /** `route`: the pattern of its path; `none` where no route took it. */
  answered(route: string, method: string, status: number, seconds: number): void;
  /** Tells of the memory for answers of one server from now on. */
  watch(server: HttpListener, memory: AnswerMemory): void;
  readonly contentType: string;
  scrape(): Promise<string>;
}

export function declareHttpMetrics(metrics: MetricsRegistry): HttpMetrics {
  const requests = metrics.counter({
    name: 'holdfast_http_requests_total',
    help: 'Answered requests by route, method and status.',
    labels: ['route', 'method', 'status'],
  });
  const duration = metrics.histogram({
    name: 'holdfast_http_request_duration_seconds',
    help: 'From the head of a request to the last byte of its answer, by route.',
    labels: ['route'],
  });
  const memories = new Map<HttpListener, AnswerMemory>();
  const each = (read: (memory: AnswerMemory) => number) => () =>
    [...memories].map(([listener, memory]) => ({ labels: { listener }, value: read(memory) }));
  const labels = ['listener'];
  metrics.gauge({
    name: 'holdfast_http_answer_memory_bytes',
    help: 'Memory that requests and answers under way hold.',
    labels,
    read: each(({ heldBytes }) => heldBytes),
  });
  metrics.gauge({
    name: 'holdfast_http_answer_memory_limit_bytes',
    help: 'What requests and answers may hold, all clients together.',
    labels,
    read: each(({ limitBytes }) => limitBytes),
  });
  metrics.countedElsewhere({
    name: 'holdfast_http_answer_memory_refusals_total',
    help: 'Requests that were told to come again because others held that memory.',
    labels,
    read: each(({ refused }) => refused),
  });
  metrics.countedElsewhere({
    name: 'holdfast_http_answer_memory_cuts_total',
    help: 'Answers that a slow reader lost to those who waited for that memory, or for room in the cache of blobs.',
    labels,
    read: each(({ cut }) => cut),
  });
  return {
    watch: (listener, memory) => void memories.set(listener, memory),
    answered(route, method, status, seconds) {
      requests.inc({ route, method: METHODS.has(method) ? method : 'other', status: String(status) });
      duration.observe({ route }, seconds);
    },
    contentType: metrics.contentType,
    scrape: () => metrics.scrape(),
  };
}

/** A client chooses the word, and each would be a series of its own. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);

/** One scrape for all who ask in one turn of the event loop: nothing limits who asks, so what asking costs is bounded here. */
class SharedScrape {
  readonly #scrape: () => Promise<string>;
  #next: Promise<Buffer> | null = null;

  constructor(scrape: () => Promise<string>) {
    this.#scrape = scrape;
  }

  read(): Promise<Buffer> {
    this.#next ??= this.#inNextTurn();
    return this.#next;
  }

  async #inNextTurn(): Promise<Buffer> {
    await setImmediate();
    this.#next = null;
    return Buffer.from(await this.#scrape());
  }
}

/**
 * Read like everything else that is read: where read tokens are configured, Prometheus needs one too. Series keep their
 * names for every reader, so places have their public names for operators too.
 */
export function metricsRoutes(metrics: HttpMetrics, words: PublicWords = ALL_WORDS): Route[] {
  const shared = new SharedScrape(async () => words(await metrics.scrape()));
  return [
    defineRoute({
      path: '/metrics',
      says: 'What Prometheus scrapes.',
      answers: [{ mediaType: 'text/plain', schema: null }],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      isAlwaysAnswered: true,
      async answer() {
        return {
          status: 200,
          headers: { 'content-type': metrics.contentType, 'cache-control': 'no-store' },
          body: bodyOf(await shared.read()),
        };
      },
    }),
  ];
}
