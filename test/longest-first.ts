import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first: begun last, one of them would run alone while the other workers rest. */
const LONGEST: readonly string[] = [
  'scenario/two-days.test.ts',
  'image/container.test.ts',
  'e2e/kill-nine.test.ts',
  'e2e/terminal.test.ts',
  'e2e/bad-folder.test.ts',
  'e2e/http/live-clients.test.ts',
  'e2e/development.test.ts',
  'e2e/backfill/resuming.test.ts',
  'e2e/ops/standby.test.ts',
  'e2e/serve/real-backends.test.ts',
  'e2e/backends/lies.test.ts',
  'e2e/admin-operations.test.ts',
  'e2e/stopping.test.ts',
  'http/schemathesis.test.ts',
  'e2e/backends/outages.test.ts',
  'e2e/backends/rebuild-and-repair.test.ts',
  'e2e/ops/years.test.ts',
  'scenario/records-on-backends.test.ts',
  'package/package.test.ts',
  'helm/chart.test.ts',
  'ops/alerts.test.ts',
  'e2e/withhold.test.ts',
  'e2e/admin-jobs.test.ts',
  'e2e/backfill/alone.test.ts',
  'replication/custom/custom-commitment.test.ts',
  'scenario/outages.test.ts',
  'scenario/several-nodes.test.ts',
];

/** The files named above first; the rest as vitest orders them, larger or slower ones before the others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
