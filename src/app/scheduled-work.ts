import type { Catalog } from '../catalog/catalog.ts';
import type { SettingValues } from '../config/index.ts';
import type { Alerts } from '../core/alerts/alerts.ts';
import { Notifier } from '../core/notifier.ts';
import { Heartbeat } from '../core/observability/heartbeat.ts';
import type { Logger } from '../core/observability/logger.ts';
import { Schedule, type ScheduleModules } from '../core/schedule/schedule.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import type { Archive } from './archive.ts';

export interface ScheduledWork {
  readonly schedule: Schedule;
  /** Resolves when the signal has aborted and everything under way has ended. */
  run(signal: AbortSignal): Promise<void>;
}

/** Clock and waiting function of a schedule. */
export type ScheduleTime = Pick<ScheduleModules, 'clock' | 'random' | 'wait'>;

const sleep: ScheduleTime['wait'] = (ms, signal) => new Notifier().wait(ms, signal);
export const REAL_TIME: ScheduleTime = { clock: SYSTEM_CLOCK, random: Math.random, wait: sleep };

/** Scheduled work of a running archive: maintenance, the heartbeat, and alerts where they have a receiver. */
export function scheduledWork(
  settings: SettingValues,
  archive: Archive,
  catalog: Catalog,
  log: Logger,
  alerts: Alerts | null,
  time: ScheduleTime,
): ScheduledWork {
  const { routine, reports } = archive;
  const schedule = new Schedule(
    [
      {
        name: 'scrub',
        schedule: settings.scrubSchedule,
        run: (signal, isRepeat) => routine.scrub.slice(signal, isRepeat),
      },
      { name: 'audit', schedule: settings.auditSchedule, run: (signal) => routine.audit.run(signal) },
      { name: 'canary', schedule: settings.canarySchedule, run: (signal) => routine.lookAtBackends(signal) },
      { name: 'peers', schedule: settings.peerSchedule, run: (signal) => archive.comparer.run(signal) },
      { name: 'attest', schedule: settings.attestSchedule, run: (signal) => archive.attestor.attestMonthly(signal) },
      { name: 'maintenance', schedule: settings.maintenanceSchedule, run: async () => routine.maintenance.run() },
      ...(alerts === null
        ? []
        : [
            {
              name: 'digest',
              schedule: settings.alertDigestSchedule,
              run: (signal: AbortSignal) => alerts.digest(signal),
            },
          ]),
    ],
    {
      ledger: catalog.runs,
      log: log.child({ room: 'schedule' }),
      ended: (task, error) => reports.taskEnded(task, error),
      ...time,
    },
  );
  const heartbeat =
    settings.heartbeatUrl === null
      ? null
      : new Heartbeat(
          { url: settings.heartbeatUrl, everyMs: settings.heartbeatSeconds * 1_000 },
          () => archive.conditions().every(({ blocksReadiness }) => !blocksReadiness),
          (failure) => reports.heartbeatTold(failure),
          sleep,
        );
  return {
    schedule,
    async run(signal) {
      await Promise.all([schedule.run(signal), heartbeat?.run(signal), alerts?.run(signal)]);
    },
  };
}
