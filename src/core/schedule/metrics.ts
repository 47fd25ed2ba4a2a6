import type { MetricsRegistry } from '../observability/metrics.ts';
import type { TaskState } from './schedule.ts';

export function declareScheduleMetrics(metrics: MetricsRegistry, read: () => readonly TaskState[]): void {
  const gauge = (name: string, help: string, value: (state: TaskState) => number | null) =>
    metrics.gauge({
      name,
      help,
      labels: ['task'],
      read: () => read().map((state) => ({ labels: { task: state.name }, value: value(state) })),
    });
  gauge(
    'holdfast_task_last_success_timestamp_seconds',
    'When each scheduled task last ended well; before that, when it was first scheduled.',
    ({ succeededMs, scheduledMs }) => (succeededMs ?? scheduledMs) / 1_000,
  );
  gauge(
    'holdfast_task_failed',
    '1: the last run that ended failed; it stays while a repeat is under way.',
    ({ hasFailed }) => Number(hasFailed),
  );
  gauge('holdfast_task_running', '1: it is under way.', ({ outcome }) => Number(outcome === 'running'));
  gauge(
    'holdfast_task_last_duration_seconds',
    'How long the last run in this process took; absent: none.',
    ({ lastSeconds }) => lastSeconds,
  );
}
