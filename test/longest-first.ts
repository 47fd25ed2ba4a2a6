import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first: begun last, one of them would run alone while the other workers rest. */
const LONGEST: readonly string[] = [
  'simulate/simulate.test.ts',
  'image/container.test.ts',
  'page/interrupted.test.ts',
  'scenario/two-days.test.ts',
  'scenario/peers-compared.test.ts',
  'ops/memory-limit.test.ts',
  'e2e/http/live-clients.test.ts',
  'e2e/terminal.test.ts',
  'e2e/serve/real-backends.test.ts',
  'package/package.test.ts',
  'e2e/admin-operations.test.ts',
  'e2e/backends/low-disk.test.ts',
  'e2e/kill-nine.test.ts',
  'e2e/backends/kill-points.test.ts',
  'helm/chart.test.ts',
  'package/reference.test.ts',
  'replication/poison.test.ts',
  'bundle/bundle.test.ts',
  'e2e/http/fuzz.test.ts',
  'e2e/stopping.test.ts',
  'http/schemathesis.test.ts',
  'e2e/secrets.test.ts',
  'e2e/http/faults.test.ts',
  'e2e/backfill/alone.test.ts',
  'page/states.test.ts',
  'e2e/http/slow-readers.test.ts',
  'e2e/custom-commitments.test.ts',
  'e2e/backfill/buckets.test.ts',
  'http/fuzz-described.test.ts',
  'e2e/bad-folder.test.ts',
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
