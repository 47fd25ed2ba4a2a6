import type { Figures } from '../../src/app/figures.ts';
import { declareArchiveMetrics, declareStandingMetrics } from '../../src/app/metrics.ts';
import { declareBuild } from '../../src/core/observability/build-metrics.ts';
import { type DescribedFamily, MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { declareScheduleMetrics } from '../../src/core/schedule/metrics.ts';
import { declareHttpMetrics } from '../../src/http/index.ts';
import { declareNodeMetrics } from '../../src/node/metrics.ts';
import { declareBackendMetrics, declareVolumeMetrics } from '../../src/storage/metrics.ts';

function neverRead(): Figures {
  throw new Error('Nothing is read to describe a family.');
}

/** The families that the rooms declare for `holdfast run`. That it is all of it, the comparison with a live scrape says. */
export function declaredFamilies(): DescribedFamily[] {
  const metrics = new MetricsRegistry();
  declareBuild(metrics, { version: '0.0.0', command: 'run' });
  declareArchiveMetrics(metrics, neverRead);
  declareNodeMetrics(metrics);
  declareBackendMetrics(metrics);
  declareVolumeMetrics(metrics, '/nowhere');
  declareScheduleMetrics(metrics, () => []);
  declareHttpMetrics(metrics);
  return metrics.describe();
}

/** The families that they declare for `holdfast serve`. */
export function declaredForReaders(): DescribedFamily[] {
  const metrics = new MetricsRegistry();
  declareBuild(metrics, { version: '0.0.0', command: 'serve' });
  declareStandingMetrics(metrics, neverRead);
  declareBackendMetrics(metrics);
  declareHttpMetrics(metrics);
  return metrics.describe();
}

const HEAD = `# Metrics

The metrics that \`GET /metrics\` of \`holdfast run\` tells Prometheus; \`holdfast serve\` tells those that are marked so. A test makes
this page from what the rooms declare, and compares it with a live scrape
(\`npx vitest run --config test/vitest.config.ts test/ops/metrics.test.ts -u\`).

\`/metrics\` is read like everything that is read: openly where no read tokens are configured, else with one of them
(\`authorization.credentials_file\` of the scrape). A family without samples has nothing to tell now: "absent" is told
below where it means something. Timestamps are seconds since 1970; "the chain's clock" is the median time of the tip.
`;

/** config/METRICS.md, as it is to be. */
export function metricsTable(families: readonly DescribedFamily[]): string {
  const ours = families.filter(({ name }) => name.startsWith('holdfast_'));
  const rest = families.filter(({ name }) => !name.startsWith('holdfast_'));
  return `${HEAD}\n${rows(ours)}\n\n## Of the process\n\nAs prom-client gives them for every Node program.\n\n${rows(rest)}\n`;
}

function rows(families: readonly DescribedFamily[]): string {
  const byReaders = new Set(declaredForReaders().map(({ name }) => name));
  const lines = families.map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${byReaders.has(name) ? 'yes' : ''} | ${type} | ${labels.map((label) => `\`${label}\``).join(' ')} | ${help.replaceAll('|', '\\|')} |`,
  );
  return ['| name | serve | type | labels | what it says |', '|---|---|---|---|---|', ...lines].join('\n');
}

export interface ScrapedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The exposition format, as far as prom-client writes it. */
export function parseScrape(text: string): { types: Map<string, string>; samples: ScrapedSample[] } {
  const types = new Map<string, string>();
  const samples: ScrapedSample[] = [];
  for (const line of text.split('\n')) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== '') types.set(name, type);
    if (line === '' || line.startsWith('#')) continue;
    const [, sample = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (sample === '') throw new Error(`No line of a scrape: ${line}`);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    samples.push({ name: sample, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return { types, samples };
}

/** The family that a sample belongs to: histograms and summaries have several names. */
export function familyOf(sample: string, types: ReadonlyMap<string, string>): string {
  if (types.has(sample)) return sample;
  return sample.replace(/_(bucket|sum|count)$/, '');
}
