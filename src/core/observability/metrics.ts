import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { measureLoopDelay } from './loop-delay.ts';

/** One line of a family. A value of null is left out: nothing is known, or there is nothing. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number | null;
}

export interface FamilyDeclaration {
  /** With its unit at the end: `holdfast_…_seconds`, `_bytes`, `_total`, `_blobs`. */
  readonly name: string;
  /** One sentence for the table of metrics. */
  readonly help: string;
  /** Only what is bounded by the configuration or by the program: never a hash, never an address with secrets. */
  readonly labels?: readonly string[];
}

export interface ReadFamilyDeclaration extends FamilyDeclaration {
  /** Runs at each scrape and must be cheap. */
  read(): readonly Sample[];
}

/** Description of a family in the table of metrics. */
export interface DescribedFamily {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Seconds, from what a cache answers to what a large blob on a slow line takes. */
const DURATION_BUCKETS = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Between two looks of the exporter's own timer, which it cannot be told to leave out; `measureLoopDelay` replaces it. */
const NEVER_MS = 86_400_000;

/** Metrics of one process. Each room declares its own families here; the composition root owns the registry. */
export class MetricsRegistry {
  readonly contentType: string;
  readonly #registry = new Registry();
  readonly #faults: Counter;

  constructor() {
    this.contentType = this.#registry.contentType;
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: NEVER_MS });
    for (const family of measureLoopDelay()) {
      this.#registry.removeSingleMetric(family.name);
      this.gauge(family);
    }
    this.#faults = this.counter({
      name: 'holdfast_scrape_faults_total',
      help: 'Families that could not be read at a scrape and are missing from it.',
      labels: ['family'],
    });
  }

  /** The exposition format of Prometheus. */
  scrape(): Promise<string> {
    return this.#registry.metrics();
  }

  /** A gauge that is read when it is asked for. */
  gauge({ name, help, labels = [], read }: ReadFamilyDeclaration): void {
    const samples = () => this.#samples(name, read);
    new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [this.#registry],
      collect() {
        this.reset();
        // A gauge without labels is 0 after that, which is a claim.
        if (labels.length === 0) this.remove({});
        for (const { labels: of = {}, value } of samples()) if (value !== null) this.set(of, value);
      },
    });
  }

  /** Declares counters that another object counts from the start of the process. */
  countedElsewhere({ name, help, labels = [], read }: ReadFamilyDeclaration): void {
    const samples = () => this.#samples(name, read);
    new Counter({
      name,
      help,
      labelNames: [...labels],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels: of = {}, value } of samples()) if (value !== null) this.inc(of, value);
      },
    });
  }

  counter({ name, help, labels = [] }: FamilyDeclaration): Counter {
    return new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] });
  }

  /** Declares a histogram of durations in seconds. */
  histogram({ name, help, labels = [] }: FamilyDeclaration): Histogram {
    return new Histogram({
      name,
      help,
      labelNames: [...labels],
      buckets: DURATION_BUCKETS,
      registers: [this.#registry],
    });
  }

  /** Every family, in the order of names. */
  describe(): DescribedFamily[] {
    return this.#registry
      .getMetricsAsArray()
      .map((metric) => ({
        name: metric.name,
        type: String(metric.type),
        labels: 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [],
        help: metric.help,
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** One family that cannot be read must not cost the others, at night least of all: it is missing, and that is counted. */
  #samples(family: string, read: () => readonly Sample[]): readonly Sample[] {
    try {
      return read();
    } catch {
      this.#faults.inc({ family });
      return [];
    }
  }
}
