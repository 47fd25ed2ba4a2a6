import type { Catalog } from '../catalog/catalog.ts';
import type { SettingValues } from '../config/index.ts';
import { AlertHook } from '../core/alerts/alert-hook.ts';
import { Alerts } from '../core/alerts/alerts.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import type { Archive } from './archive.ts';
import type { ScheduleTime } from './scheduled-work.ts';

export interface OpenedAlerts {
  readonly alerts: Alerts;
  close(): Promise<void>;
}

/** Opens the receiver of alerts that the settings name; null without one. */
export function openAlerts(
  { alertUrl: url, alertSecret: secret, alertFormat: format }: SettingValues,
  modules: {
    readonly archive: Archive;
    readonly catalog: Catalog;
    readonly conditions: ConditionBoard;
    readonly archiverId: string;
    readonly wait: ScheduleTime['wait'];
  },
): OpenedAlerts | null {
  if (url === null) return null;
  const { archive, catalog, conditions, archiverId, wait } = modules;
  const hook = new AlertHook({ url, secret, format }, SYSTEM_CLOCK.wallMs);
  const alerts = new Alerts({
    archiverId,
    hook,
    ledger: catalog.toldAlerts,
    archive: { standing: () => archive.standing(), summary: () => summaryOf(archive.status()) },
    conditions,
    clock: SYSTEM_CLOCK,
    wait,
  });
  return { alerts, close: () => hook.close() };
}

/** The archive's state in one sentence. */
export function summaryOf({ content, chain, withheld, conditions }: ArchiveStatus): string {
  const parts = [
    `${content.stored} blobs stored`,
    `${content.spooled} spooled`,
    `${content.seen} not here yet`,
    content.atRisk === null ? 'at risk cannot be told' : `${content.atRisk} at risk`,
    ...(conditions.some(({ code }) => code === 'chain/overdue') ? ['others past their deadline'] : []),
    `${chain.lost} lost`,
    `${withheld.count} withheld`,
    chain.height === null ? 'the chain is not walked yet' : `walked to height ${chain.height}`,
    chain.finalHeight === null ? 'nothing final yet' : `final to height ${chain.finalHeight}`,
  ];
  const wrong = conditions.length === 0 ? 'Nothing is wrong' : `Conditions that stand: ${conditions.length}`;
  return `${wrong}; ${parts.join(', ')}.`;
}
