import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first: begun last, one of them would run alone while the other workers rest. */
const LONGEST: readonly string[] = [];

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
