import type { JobTable } from '../../jobs/job-table.ts';

/** What operators may do with a running archive. */
export interface AdminView {
  readonly jobs: Pick<JobTable, 'kinds' | 'start' | 'list' | 'find' | 'follow' | 'cancel'>;
}
