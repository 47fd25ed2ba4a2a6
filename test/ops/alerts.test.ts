import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { temporaryFolder } from '../temporary-folder.ts';
import { ALERTS, familiesIn, RULES_FILE } from './alert-rules.ts';
import { declaredFamilies } from './metrics-table.ts';
import { describeWithCommand } from './with-command.ts';

type Series = Readonly<Record<string, string>>;

/** A minute a value, for two days; `time()` begins at 0 there. `a+bxn`: from a, n times b more. */
const STEPS = 2_880;
const still = (value: number) => `${value}+0x${STEPS}`;
/** A timestamp that is always now. */
const now = `0+60x${STEPS}`;

/** An archive that does well. */
const HEALTHY: Series = {
  'holdfast_build_info{command="run"}': still(1),
  'holdfast_build_info{command="serve",job="readers",instance="a"}': still(1),
  'holdfast_unspooled_late_blobs{window_percent="50"}': still(0),
  'holdfast_unspooled_late_blobs{window_percent="90"}': still(0),
  'holdfast_unstored_late_blobs{window_percent="50"}': still(0),
  holdfast_overdue_blobs: still(0),
  holdfast_losses_recorded_total: still(0),
  // The losses are long ago, and were told then.
  holdfast_lost_blobs: still(3),
  'holdfast_damaged_found_total{backend="s3"}': still(2),
  'holdfast_backend_damaged_blobs{backend="s3"}': still(0),
  holdfast_last_blob_block_timestamp_seconds: now,
  holdfast_node_up: still(1),
  holdfast_node_tip_changed_timestamp_seconds: now,
  holdfast_walk_lag_blocks: still(1),
  holdfast_final_block_timestamp_seconds: now,
  'holdfast_backend_up{backend="s3"}': still(1),
  'holdfast_backend_queue_oldest_age_seconds{backend="s3"}': still(300),
  'holdfast_canary_good{backend="s3",age="old"}': still(1),
  'holdfast_task_last_success_timestamp_seconds{task="canary"}': now,
  'holdfast_task_last_success_timestamp_seconds{task="scrub"}': now,
  'holdfast_task_failed{task="scrub"}': still(0),
  'holdfast_task_last_success_timestamp_seconds{task="attest"}': now,
  holdfast_attested_timestamp_seconds: now,
  'holdfast_peer_up{peer="peer peer-1"}': still(1),
  'holdfast_peer_compared_timestamp_seconds{peer="peer peer-1"}': now,
  'holdfast_peer_audited_total{peer="peer peer-1",outcome="good"}': `0+1x${STEPS}`,
  // One missing answer says nothing.
  'holdfast_peer_audited_total{peer="peer peer-1",outcome="no-answer"}': `0+0x60 1+0x${STEPS}`,
  'holdfast_peer_audited_total{peer="peer peer-1",outcome="absent"}': still(0),
  'holdfast_condition{code="archive/damaged-copy",blocks_readiness="false"}': still(1),
  // Filling, but it takes weeks.
  holdfast_disk_free_bytes: `800000000000-1000x${STEPS}`,
  holdfast_disk_size_bytes: still(1_000_000_000_000),
  'holdfast_backend_clock_offset_seconds{backend="s3"}': still(-2),
  'holdfast_scrape_faults_total{family="x"}': still(0),
};

/** The series that makes each alert fire instead of the healthy one, and by when. null: the series is gone. */
const CASES: Readonly<
  Record<string, { readonly series: Readonly<Record<string, string | null>>; readonly at: string }>
> = {
  HoldfastBlobsNearlyLost: { series: { 'holdfast_unspooled_late_blobs{window_percent="90"}': still(1) }, at: '2m' },
  HoldfastBlobsAtRisk: { series: { 'holdfast_unspooled_late_blobs{window_percent="50"}': still(2) }, at: '3m' },
  HoldfastBlobsOverdue: { series: { holdfast_overdue_blobs: `0+0x5 1+0x${STEPS}` }, at: '6m' },
  HoldfastBlobLost: { series: { holdfast_lost_blobs: `3+0x480 4+0x${STEPS}` }, at: '9h' },
  HoldfastUnderReplicated: { series: { 'holdfast_unstored_late_blobs{window_percent="50"}': still(9) }, at: '11m' },
  HoldfastDamageFound: { series: { 'holdfast_damaged_found_total{backend="s3"}': `2+0x30 3+0x${STEPS}` }, at: '40m' },
  HoldfastDamageNotHealed: { series: { 'holdfast_backend_damaged_blobs{backend="s3"}': still(1) }, at: '61m' },
  HoldfastNothingNew: { series: { holdfast_last_blob_block_timestamp_seconds: still(0) }, at: '13h' },
  HoldfastNodeSilent: { series: { holdfast_node_up: still(0) }, at: '6m' },
  HoldfastTipStands: { series: { holdfast_node_tip_changed_timestamp_seconds: still(0) }, at: '66m' },
  HoldfastWalkBehind: { series: { holdfast_walk_lag_blocks: still(11) }, at: '16m' },
  HoldfastFinalityStands: { series: { holdfast_final_block_timestamp_seconds: still(0) }, at: '200m' },
  HoldfastFinalWithdrawn: {
    series: { 'holdfast_condition{code="chain/final-withdrawn",blocks_readiness="false"}': still(1) },
    at: '1m',
  },
  HoldfastBackendDown: { series: { 'holdfast_backend_up{backend="s3"}': still(0) }, at: '6m' },
  HoldfastBackendQueueOld: {
    series: { 'holdfast_backend_queue_oldest_age_seconds{backend="s3"}': still(4_000) },
    at: '16m',
  },
  HoldfastCanaryFailed: { series: { 'holdfast_canary_good{backend="s3",age="old"}': still(0) }, at: '2m' },
  HoldfastCanaryOverdue: {
    series: { 'holdfast_task_last_success_timestamp_seconds{task="canary"}': still(0) },
    at: '5h',
  },
  // The last success was days before these two.
  HoldfastScrubOverdue: {
    series: { 'holdfast_task_last_success_timestamp_seconds{task="scrub"}': still(-4 * 86_400) },
    at: '61m',
  },
  HoldfastTaskFailing: { series: { 'holdfast_task_failed{task="scrub"}': still(1) }, at: '121m' },
  HoldfastPeerDown: { series: { 'holdfast_peer_up{peer="peer peer-1"}': still(0) }, at: '14h' },
  HoldfastPeerLies: {
    series: { 'holdfast_condition{code="peer/contradicts-chain",blocks_readiness="false"}': still(1) },
    at: '1m',
  },
  HoldfastPeerDrawsFail: {
    series: { 'holdfast_peer_audited_total{peer="peer peer-1",outcome="absent"}': `0+0x30 1+0x${STEPS}` },
    at: '40m',
  },
  HoldfastPeerComparisonOverdue: {
    series: { 'holdfast_peer_compared_timestamp_seconds{peer="peer peer-1"}': still(-3 * 86_400) },
    at: '61m',
  },
  HoldfastEquivocation: {
    series: { 'holdfast_condition{code="peer/equivocation",blocks_readiness="false"}': still(1) },
    at: '1m',
  },
  HoldfastAttestationOverdue: { series: { holdfast_attested_timestamp_seconds: still(-36 * 86_400) }, at: '61m' },
  HoldfastDown: { series: { 'holdfast_build_info{command="run"}': null }, at: '6m' },
  HoldfastReadersDown: {
    series: { 'holdfast_build_info{command="serve",job="readers",instance="a"}': `1x60 stale` },
    at: '70m',
  },
  HoldfastNotReady: {
    series: { 'holdfast_condition{code="storage/full",blocks_readiness="true"}': still(1) },
    at: '16m',
  },
  HoldfastDiskFilling: { series: { holdfast_disk_free_bytes: `390000000000-100000000x${STEPS}` }, at: '7h' },
  HoldfastDiskNearlyFull: { series: { holdfast_disk_free_bytes: still(50_000_000_000) }, at: '6m' },
  HoldfastClockWrong: { series: { 'holdfast_backend_clock_offset_seconds{backend="s3"}': still(-900) }, at: '6m' },
  HoldfastHeartbeatNotTaken: {
    series: { 'holdfast_condition{code="heartbeat/not-taken",blocks_readiness="false"}': still(1) },
    at: '16m',
  },
  HoldfastAlertNotDelivered: {
    series: { 'holdfast_condition{code="alert/not-delivered",blocks_readiness="false"}': still(1) },
    at: '16m',
  },
  HoldfastScrapeIncomplete: { series: { 'holdfast_scrape_faults_total{family="x"}': `0+0x5 4+0x${STEPS}` }, at: '8m' },
};

interface Expectation {
  readonly expr: string;
  readonly eval_time: string;
  readonly exp_samples: readonly object[];
}

/** One test of promtool: these series, and how many of this alert fire then. Series end soon after the last look. */
function promtoolTest(series: Readonly<Record<string, string | null>>, expectations: readonly Expectation[]) {
  const minutes = expectations.map(
    ({ eval_time }) => Number.parseInt(eval_time, 10) * (eval_time.endsWith('h') ? 60 : 1),
  );
  const needed = Math.min(STEPS, Math.max(...minutes) + 5);
  return {
    interval: '1m',
    input_series: Object.entries(series).flatMap(([name, values]) =>
      values === null ? [] : [{ series: name, values: values.replaceAll(`x${STEPS}`, `x${needed}`) }],
    ),
    promql_expr_test: expectations,
  };
}

const firing = (alert: string) => `count(ALERTS{alertname="${alert}",alertstate="firing"})`;

/** A test that asks for one alert evaluates that rule alone: the others would take nine tenths of the time. */
function runPromtool(
  tests: object[],
  { alert, everyMinutes = 1 }: { readonly alert?: string; readonly everyMinutes?: number },
): { status: number | null; output: string } {
  const folder = temporaryFolder();
  const one = join(folder, 'one.yaml');
  writeFileSync(one, stringify({ groups: [{ name: 'one', rules: ALERTS.filter((rule) => rule.alert === alert) }] }));
  const file = join(folder, 'alerts.yaml');
  const rules = { rule_files: [alert === undefined ? RULES_FILE : one], evaluation_interval: `${everyMinutes}m` };
  writeFileSync(file, stringify({ ...rules, tests }));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

describe('the alerts', () => {
  test('ask for nothing that is not in the table of metrics', () => {
    const known = new Set(declaredFamilies().map(({ name }) => name));
    const asked = ALERTS.flatMap(({ expr }) => familiesIn(expr));
    expect(asked.filter((name) => !known.has(name))).toEqual([]);
  });

  test('each has a case that makes it fire, and there is no case of another', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(ALERTS.map(({ alert }) => alert).toSorted());
  });
});

describeWithCommand('promtool', 'the alerts, as Prometheus evaluates them', () => {
  test('the example of a configuration is one, and finds them', () => {
    const example = join(dirname(RULES_FILE), 'prometheus.yaml');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', example], { encoding: 'utf8' });
    expect(status, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toContain(`${ALERTS.length} rules found`);
  });

  test('none fires in two healthy days', () => {
    const times = ['30m', '7h', '14h', '47h'];
    const quiet = times.map((eval_time) => ({ expr: 'ALERTS{alertstate="firing"}', eval_time, exp_samples: [] }));
    // The series stand still or rise evenly: an evaluation every five minutes sees what one every minute sees.
    expect(runPromtool([promtoolTest(HEALTHY, quiet)], { everyMinutes: 5 })).toMatchObject({ status: 0 });
  });

  test.each(Object.entries(CASES))('%s fires', (alert, { series, at }) => {
    const fires = [{ expr: firing(alert), eval_time: at, exp_samples: [{ labels: '{}', value: 1 }] }];
    const { status, output } = runPromtool([promtoolTest({ ...HEALTHY, ...series }, fires)], { alert });
    expect(status, output).toBe(0);
  });

  test('one of two archivers that goes away alarms while the other answers, and the alarm ends within a day', () => {
    const two = {
      ...HEALTHY,
      'holdfast_build_info{command="run"}': null,
      'holdfast_build_info{command="run",job="one",instance="a"}': still(1),
      'holdfast_build_info{command="run",job="two",instance="b"}': '1x60 stale',
    };
    const { status, output } = runPromtool(
      [
        promtoolTest(two, [
          { expr: firing('HoldfastDown'), eval_time: '50m', exp_samples: [] },
          {
            expr: `${firing('HoldfastDown')} by (job)`,
            eval_time: '70m',
            exp_samples: [{ labels: '{job="two"}', value: 1 }],
          },
          { expr: firing('HoldfastDown'), eval_time: '27h', exp_samples: [] },
        ]),
      ],
      { alert: 'HoldfastDown' },
    );
    expect(status, output).toBe(0);
  });

  test('a second archiver of one job that goes away alarms as well', () => {
    const two = {
      ...HEALTHY,
      'holdfast_build_info{command="run"}': null,
      'holdfast_build_info{command="run",job="one",instance="a"}': still(1),
      'holdfast_build_info{command="run",job="one",instance="b"}': '1x60 stale',
    };
    const { status, output } = runPromtool(
      [
        promtoolTest(two, [
          {
            expr: `${firing('HoldfastDown')} by (job)`,
            eval_time: '70m',
            exp_samples: [{ labels: '{job="one"}', value: 1 }],
          },
        ]),
      ],
      { alert: 'HoldfastDown' },
    );
    expect(status, output).toBe(0);
  });

  test('a backend that is down for three minutes and returns alarms no operator; after six it does, and then it clears', () => {
    const short = promtoolTest({ ...HEALTHY, 'holdfast_backend_up{backend="s3"}': `1x5 0x3 1x${STEPS}` }, [
      { expr: firing('HoldfastBackendDown'), eval_time: '8m', exp_samples: [] },
    ]);
    const long = promtoolTest({ ...HEALTHY, 'holdfast_backend_up{backend="s3"}': `1x5 0x10 1x${STEPS}` }, [
      { expr: firing('HoldfastBackendDown'), eval_time: '13m', exp_samples: [{ labels: '{}', value: 1 }] },
      { expr: firing('HoldfastBackendDown'), eval_time: '20m', exp_samples: [] },
    ]);
    const { status, output } = runPromtool([short, long], { alert: 'HoldfastBackendDown' });
    expect(status, output).toBe(0);
  });

  test('a draw that failed before the first scrape of a process is told, and ends a day later', () => {
    const drawn = 'holdfast_peer_audited_total{peer="peer peer-1",outcome="absent"}';
    const { status, output } = runPromtool(
      [
        promtoolTest({ ...HEALTHY, [drawn]: null, [drawn.replace('peer-1', 'peer-2')]: still(4) }, [
          { expr: firing('HoldfastPeerDrawsFail'), eval_time: '5m', exp_samples: [{ labels: '{}', value: 1 }] },
          { expr: firing('HoldfastPeerDrawsFail'), eval_time: '25h', exp_samples: [] },
        ]),
      ],
      { alert: 'HoldfastPeerDrawsFail' },
    );
    expect(status, output).toBe(0);
  });

  test('an archive that never could state anything is told as well', () => {
    const { status, output } = runPromtool(
      [
        promtoolTest(
          {
            ...HEALTHY,
            holdfast_attested_timestamp_seconds: null,
            'holdfast_task_last_success_timestamp_seconds{task="attest"}': still(-4 * 86_400),
          },
          [{ expr: firing('HoldfastAttestationOverdue'), eval_time: '61m', exp_samples: [{ labels: '{}', value: 1 }] }],
        ),
      ],
      { alert: 'HoldfastAttestationOverdue' },
    );
    expect(status, output).toBe(0);
  });
});
