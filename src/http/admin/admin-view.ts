import type { TakeDowns } from '../../archive/withhold/take-downs.ts';
import type { JobTable } from '../../jobs/job-table.ts';

/** Take-downs, as the archive does them. */
export type TakeDownView = Pick<TakeDowns, 'list' | 'withhold' | 'revoke'>;

/** What operators may do with a running archive. */
export interface AdminView {
  readonly takeDowns: TakeDownView;
  readonly jobs: Pick<JobTable, 'kinds' | 'start' | 'list' | 'find' | 'follow' | 'cancel'>;
}
