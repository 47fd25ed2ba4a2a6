import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const NANOSECONDS = 1e9;
/** For a Node that knows no sampling by iteration: ten looks a second, and every value has these milliseconds in it. */
const INTERVAL_MS = 100;

/** Names as every Node exporter has them, because dashboards know them. */
const FAMILIES: readonly (readonly [name: string, help: string, read: (delays: ELDHistogram) => number])[] = [
  ['min', 'The minimum', ({ min }) => min],
  ['max', 'The maximum', ({ max }) => max],
  ['mean', 'The mean', ({ mean }) => mean],
  ['stddev', 'The standard deviation', ({ stddev }) => stddev],
  ['p50', 'The 50th percentile', (delays) => delays.percentile(50)],
  ['p90', 'The 90th percentile', (delays) => delays.percentile(90)],
  ['p99', 'The 99th percentile', (delays) => delays.percentile(99)],
];

interface DelayFamily {
  readonly name: string;
  readonly help: string;
  read(): readonly { readonly value: number | null }[];
}

/**
 * Measures how long the event loop kept others waiting, by its own iterations. The exporter's own measure is a timer of
 * 10 ms, which woke an idle process a hundred times a second. An idle archiver used 0.9 % of a core with it, and uses
 * 0.35 % without.
 */
export function measureLoopDelay(): readonly DelayFamily[] {
  const delays = monitorEventLoopDelay({ samplePerIteration: true, resolution: INTERVAL_MS });
  delays.enable();
  let taken: readonly number[] = [];
  return FAMILIES.map(([name, help], index) => ({
    name: `nodejs_eventloop_lag_${name}_seconds`,
    help: `${help} of the time that an iteration of the event loop took, since the scrape before.`,
    read: () => {
      // One scrape reads all of them, in this order, from the same iterations.
      if (index === 0) taken = readAll(delays);
      return [{ value: taken[index] ?? null }];
    },
  }));
}

/** Seconds of each family; none where no iteration ended. The next reading begins here. */
function readAll(delays: ELDHistogram): readonly number[] {
  if (delays.count === 0) return [];
  const seconds = FAMILIES.map(([, , read]) => read(delays) / NANOSECONDS);
  delays.reset();
  return seconds;
}
