import type { JobTable } from '../../core/jobs/job-table.ts';
import type { LevelSwitch } from '../../core/observability/logger.ts';
import type { TakeDowns } from '../../reading/withhold/take-downs.ts';
import type { DrainStatus } from '../../view/drain-status.ts';
import type { SubscriptionView } from '../../view/subscription-view.ts';

/** Take-downs, as the archive does them. */
export type TakeDownView = Pick<TakeDowns, 'list' | 'withhold' | 'revoke'>;

/** Before a planned stop: nothing new is begun, and what is here goes to the backends. */
export interface DrainSwitch {
  begin(): void;
  end(): void;
  readonly status: DrainStatus;
}

/** The operations that operators have on a running archive. */
export interface AdminView {
  /** The level of the log; null: that is not to be changed. */
  readonly levels: Pick<LevelSwitch, 'level' | 'set'> | null;
  readonly drain: DrainSwitch;
  readonly takeDowns: TakeDownView;
  readonly subscriptions: SubscriptionView;
  readonly jobs: Pick<JobTable, 'kinds' | 'isLocalOnly' | 'start' | 'list' | 'find' | 'follow' | 'cancel'>;
}
