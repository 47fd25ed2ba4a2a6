/** Files whose tests compare times, or the memory of a process while it is held up. */
export const MEASURING: readonly string[] = [
  'e2e/http/slow-readers.test.ts',
  'e2e/serve/slow-readers.test.ts',
  'http/attacks.test.ts',
  'scenario/budget.test.ts',
  'core/observability/loop-delay.test.ts',
];
