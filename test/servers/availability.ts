import { describe, type SuiteFactory } from 'vitest';
import { answers } from './command.ts';
import { serverMeans } from './server-means.ts';

/** Nothing is skipped where the whole suite is promised to run. */
export const PROMISED = process.env['CI'] === 'true';

/**
 * A suite that needs a real server: skipped by name where neither Docker nor Go is there, failing there with CI=true.
 */
export function describeWithServers(name: string, suite: SuiteFactory): void {
  if (serverMeans() !== null || PROMISED) describe(name, suite);
  else describe.skip(`${name} (skipped: neither a Docker engine nor Go is here)`, suite);
}

/** The same for what is built from its Go module only, because it is a program and no server: Helm. */
export function describeWithGo(name: string, suite: SuiteFactory): void {
  if (answers('go', ['version']) || PROMISED) describe(name, suite);
  else describe.skip(`${name} (skipped: Go is not here)`, suite);
}

/** Building Kubo from cold takes minutes on two cores. */
export const SERVER_START_MS = 1_200_000;
