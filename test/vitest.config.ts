import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { countedBranches } from './fuzzing/counted-branches.ts';
import { LongestFirst } from './longest-first.ts';
import { MEASURING } from './measuring.ts';
import { SummaryReporter } from './summary-reporter.ts';
import { filesThatStartMore } from './what-tests-need.ts';

/** Child processes load compiled modules from here, where the launcher has not named another folder. */
const COMPILED =
  process.env['NODE_COMPILE_CACHE'] ??
  fileURLToPath(new URL('../node_modules/.cache/holdfast-compiled', import.meta.url));

/** `npm test -- --quick`: leaves out the files that start servers, browsers, containers or whole processes. */
const IS_QUICK = process.env['HOLDFAST_TEST_QUICK'] === '1';
const LEFT_OUT = IS_QUICK ? filesThatStartMore() : new Map<string, readonly string[]>();

/** Files that measure run by themselves, after the others, one a core: their limits are not those of a crowded machine. */
const measuring = MEASURING.map((file) => `test/${file}`);
const leftOut = [...LEFT_OUT.keys()].map((file) => `test/${file}`);
/**
 * The others wait for servers, clocks and processes in half of their time: twice as many as there are cores keep these
 * busy. A file of the quick ones waits in two thirds of its time.
 */
const CROWD = availableParallelism() * (IS_QUICK ? 3 : 2);

/**
 * V8 counts the bytes of buffers with the heap, and the heap begins at 256 MiB. By itself V8 collects the whole heap after
 * each 64 MiB of buffers: tests that move large blobs spend a sixth of their processor time on these collections.
 */
const FEWER_COLLECTIONS = ['--external-memory-accounted-in-global-limit', '--initial-heap-size=256'];

export default defineConfig({
  // A long search of test/fuzzing is led by the branches that run.
  plugins: process.env['HOLDFAST_FUZZ_RUNS'] === undefined ? [] : [countedBranches],
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    environment: 'node',
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: [...leftOut, ...measuring],
          maxWorkers: CROWD,
          execArgv: FEWER_COLLECTIONS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'measuring',
          include: measuring,
          exclude: leftOut,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // No file replaces modules or globals for others: a worker loads each module once, not once a file, which halves
    // the processor time of the tests that need no server.
    isolate: false,
    globalSetup: ['test/left-folders.ts', 'test/bundled-programs.ts'],
    setupFiles: ['test/processor-time.ts'],
    reporters: ['default', new SummaryReporter(LEFT_OUT)],
    sequence: { sequencer: LongestFirst },
    // Tests start servers, browsers and child processes. They take up to two minutes, and many times that on a starved
    // machine: the limit ends a hang alone.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    // A poll waits as long as `eventually` does: by itself it gives up after one second.
    expect: { poll: { timeout: 300_000, interval: 25 } },
    env: { NODE_COMPILE_CACHE: COMPILED },
  },
});
