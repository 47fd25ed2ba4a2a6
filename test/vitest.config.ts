import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './summary-reporter.ts';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    environment: 'node',
    include: ['test/**/*.test.ts'],
    // Most of them wait for processes and servers: a core that is kept free gains nothing.
    maxWorkers: '100%',
    reporters: ['default', new SummaryReporter()],
    // Tests start servers and child processes on a shared machine: a slow minute is no failure.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
