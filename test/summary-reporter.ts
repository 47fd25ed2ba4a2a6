import type { Reporter, TestCase, TestModule } from 'vitest/node';

const MAX_NAMED = 20;

/** Names what was left out and what was skipped; one plain line at the end, for any log reader. */
export class SummaryReporter implements Reporter {
  readonly #leftOut: ReadonlyMap<string, readonly string[]>;

  /** @param leftOut files that the run leaves out, with what each would start. */
  constructor(leftOut: ReadonlyMap<string, readonly string[]>) {
    this.#leftOut = leftOut;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((one) => one.result().state === 'skipped');
    const failed = tests.filter((one) => one.result().state === 'failed').length;
    const brokenModules = modules.filter((module) => module.state() === 'failed' && !hasFailedTest(module)).length;
    const lines = [...this.#leftOut].map(([file, started]) => `left out: test/${file} (starts ${started.join(', ')})`);
    lines.push(...skipped.map((one) => `skipped: ${nameOf(one)}`));
    lines.push(...costliest(modules));
    const passed = tests.length - skipped.length - failed;
    lines.push(`${passed} passed, ${failed + brokenModules + errors.length} failed, ${skipped.length} skipped`);
    process.stdout.write(`${lines.join('\n')}\n`);
  }
}

/** The files to look at first when the suite has become slow. Time by the clock says less: it depends on what else runs. */
function costliest(modules: readonly TestModule[]): string[] {
  const costs = modules.map((module) => ({ file: module.relativeModuleId, ms: module.meta().processorMs ?? 0 }));
  const total = costs.reduce((sum, { ms }) => sum + ms, 0);
  if (total === 0) return [];
  const most = costs.toSorted((a, b) => b.ms - a.ms).slice(0, MAX_NAMED);
  return [
    `processor time of all files: ${seconds(total)}`,
    ...most.map(({ file, ms }) => `processor time: ${seconds(ms)} ${file}`),
  ];
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function nameOf({ module, fullName }: TestCase): string {
  return `${module.relativeModuleId} › ${fullName}`;
}

function hasFailedTest(module: TestModule): boolean {
  return [...module.children.allTests()].some((one: TestCase) => one.result().state === 'failed');
}
