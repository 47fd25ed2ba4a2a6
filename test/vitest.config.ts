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
    // Most are about processes, servers and clocks on a machine that others use too: where the whole suite is promised,
    // what failed is tried once more, and the summary names it. What must never happen even once has `retry: 0`.
    retry: process.env['CI'] === 'true' ? 1 : 0,
  },
});
