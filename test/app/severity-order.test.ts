import { expect, test } from 'vitest';
import { declareStandingMetrics } from '../../src/app/metrics.ts';
import { showStatusReport, statusReport } from '../../src/cli/status-report.ts';
import { ConditionBoard, type Subject } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { Fields } from '../../src/page/model/fields.ts';
import { decodeStatus } from '../../src/page/model/status.ts';
import { FakeArchiveView, HEALTHY } from '../http/fake-archive-view.ts';
import { FakeChainView } from '../http/fake-chain-view.ts';
import { injectable } from '../http/harness.ts';

/** In the one order: critical ones by what is the most urgent, then errors, then warnings; of equals the oldest first. */
const EXPECTED = [
  'critical chain/at-risk-90',
  'critical chain/at-risk-50',
  'critical archive/no-good-copy',
  'critical chain/lost',
  'error node/unreachable',
  'error storage/unreachable',
  'warning clock/wrong',
  'warning canary/failed',
];
const LOGGED_AS: Readonly<Record<string, string>> = { critical: 'error', error: 'error', warning: 'warn' };

/** Raised a second apart, in an order that is none of severity. */
const RAISED: readonly (readonly [Subject, string, boolean])[] = [
  ['clock', 'clock/wrong', false],
  ['chain:lost', 'chain/lost', false],
  ['node', 'node/unreachable', true],
  ['backend:a', 'storage/unreachable', true],
  ['canary', 'canary/failed', false],
  // The same code for another backend, which blocks no work.
  ['backend:b', 'storage/unreachable', false],
  ['damage', 'archive/no-good-copy', false],
  ['chain:late', 'chain/at-risk-50', false],
  ['chain:later', 'chain/at-risk-90', false],
];

function raisedBoard() {
  const lines: string[] = [];
  let nowMs = 0;
  const log = createLogger('info', { write: (line) => void lines.push(line) });
  const board = new ConditionBoard(log, () => nowMs);
  for (const [subject, code, blocksReadiness] of RAISED) {
    nowMs += 1_000;
    board.set(subject, { code, message: `This is ${code}.`, hint: 'Mend it.', blocksReadiness });
  }
  return { board, lines };
}

/** The second one of a code is shown where everything is shown. */
const once = (shown: readonly string[]) => [...new Set(shown.filter((one) => one !== 'warning storage/unreachable'))];

test('API, readiness, status, page and metrics show conditions in one order of severity, and the log by its level', async () => {
  const { board, lines } = raisedBoard();
  const view = new FakeArchiveView();
  view.now = () => ({ ...HEALTHY, conditions: board.all() });
  const registry = new MetricsRegistry();
  declareStandingMetrics(registry, () => ({ backends: [], conditions: board.all() }));
  const { inject } = injectable(view, new FakeChainView(), { metrics: declareHttpMetrics(registry) });
  const worded = ({ severity, code }: { severity: string; code: string }) => `${severity} ${code}`;

  const status: unknown = (await inject('/v1/status')).json();
  const report = statusReport.parse(status);
  expect(once(report.conditions.map(worded))).toEqual(EXPECTED);

  const ready: { conditions: { severity: string; code: string }[] } = (await inject('/readyz')).json();
  expect(ready.conditions.map(worded)).toEqual(EXPECTED.filter((one) => one.startsWith('error')));

  const screen = showStatusReport(report, { address: 'http://a', jobs: [], nowMs: 0 });
  const shown = screen.flatMap((line) => /^! (\w+): .*\((.*)\)$/.exec(line)?.slice(1, 3).join(' ') ?? []);
  expect(once(shown)).toEqual(EXPECTED);

  const page = decodeStatus(Fields.of(status, 'status')).conditions;
  expect(once(page.map(worded))).toEqual(EXPECTED);

  const scraped = (await inject('/metrics')).body.split('\n').filter((line) => line.startsWith('holdfast_condition{'));
  const label = (line: string, name: string) => new RegExp(`${name}="([^"]*)"`).exec(line)?.[1] ?? '';
  expect(scraped.map((line) => `${label(line, 'severity')} ${label(line, 'code')}`)).toEqual(EXPECTED);

  for (const line of lines.map((text): Record<string, unknown> => JSON.parse(text))) {
    expect(line['level']).toBe(LOGGED_AS[String(line['severity'])]);
  }
});
