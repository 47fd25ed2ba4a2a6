import type { JobContext, JobKind, JobOutcome } from '../core/jobs/job-kind.ts';
import { workBeside } from '../core/jobs/work-beside.ts';
import type { Backfill } from './backfill.ts';
import type { BackfillEvent } from './backfill-report.ts';
import { BACKFILL_PARAMETERS, type BackfillParameters } from './parameters.ts';
import type { OpenSource } from './source-list.ts';

export interface BackfillingArchive {
  readonly backfill: Backfill;
  runForBackfill(signal: AbortSignal): Promise<void>;
}

export interface BackfillJobOptions {
  readonly openSource: OpenSource;
  /** Nothing else works on the archive: what a backfill needs of it runs with it. Called first; may refuse by throwing. */
  readonly alone: ((signal: AbortSignal) => Promise<void>) | null;
}

/** `backfill`, as a job: beside a running archive, or on one that stands still otherwise. */
export function backfillJob(archive: BackfillingArchive, { openSource, alone }: BackfillJobOptions): JobKind {
  const kind = {
    kind: 'backfill',
    parameters: BACKFILL_PARAMETERS,
    async run(parameters: BackfillParameters, { signal, report }: JobContext): Promise<JobOutcome> {
      const context = { openSource, report: (event: BackfillEvent) => report({ ...event }), signal };
      const work = () => archive.backfill.run(parameters, context);
      if (alone === null) return { ...(await work()) };
      await alone(signal);
      return { ...(await workBeside((ending) => archive.runForBackfill(ending), work, signal)) };
    },
  };
  return kind;
}
