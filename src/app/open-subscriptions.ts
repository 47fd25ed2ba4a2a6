import type { Catalog } from '../catalog/catalog.ts';
import { FinalNotices } from '../chain/final-notices.ts';
import { describeFinality, parseFinality } from '../chain/finality.ts';
import type { SettingValues } from '../config/index.ts';
import { SignedSender } from '../core/alerts/signed-sender.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import type { Archive } from './archive.ts';

export interface OpenedSubscriptions {
  readonly notices: FinalNotices;
  close(): Promise<void>;
}

/** The webhooks that are told when a hash is final. */
export function openSubscriptions(
  { finality }: SettingValues,
  modules: {
    readonly archive: Archive;
    readonly catalog: Catalog;
    readonly conditions: ConditionBoard;
    readonly archiverId: string;
  },
): OpenedSubscriptions {
  const { archive, catalog, conditions, archiverId } = modules;
  const sender = new SignedSender(SYSTEM_CLOCK.wallMs);
  const notices = new FinalNotices({
    ...{ archive, archiverId, catalog, conditions, sender },
    finality: describeFinality(parseFinality(finality)),
    chain: archive.chainState,
    clock: SYSTEM_CLOCK,
  });
  return { notices, close: () => sender.close() };
}
