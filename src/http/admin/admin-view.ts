import type { Drain } from '../../archive/drain.ts';
import type { TakeDowns } from '../../archive/withhold/take-downs.ts';
import type { JobTable } from '../../jobs/job-table.ts';
import type { LevelSwitch } from '../../observability/logger.ts';

/** Take-downs, as the archive does them. */
export type TakeDownView = Pick<TakeDowns, 'list' | 'withhold' | 'revoke'>;

/** What operators may do with a running archive. */
export interface AdminView {
  /** Which lines of the log are written; null: that is not to be changed. */
  readonly levels: Pick<LevelSwitch, 'level' | 'set'> | null;
  readonly drain: Drain;
  readonly takeDowns: TakeDownView;
  readonly jobs: Pick<JobTable, 'kinds' | 'start' | 'list' | 'find' | 'follow' | 'cancel'>;
}
