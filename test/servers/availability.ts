import { spawnSync } from 'node:child_process';
import { describe, type SuiteFactory } from 'vitest';

/** How real servers can run here: as containers where a Docker engine answers, else built from the pinned Go module. */
export type ServerMeans = 'docker' | 'go';

let found: ServerMeans | null | undefined;

export function serverMeans(): ServerMeans | null {
  found ??= answers('docker', ['info']) ? 'docker' : answers('go', ['version']) ? 'go' : null;
  return found;
}

function answers(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/** Nothing is skipped where the whole suite is promised to run. */
const PROMISED = process.env['CI'] === 'true';

/**
 * A suite that needs a real server: skipped by name where neither Docker nor Go is there, failing there with CI=true.
 */
export function describeWithServers(name: string, suite: SuiteFactory): void {
  if (serverMeans() !== null || PROMISED) describe(name, suite);
  else describe.skip(`${name} (skipped: neither a Docker engine nor Go is here)`, suite);
}

/** Building Kubo from cold takes minutes on two cores. */
export const SERVER_START_MS = 1_200_000;

export function refuseToStart(): never {
  throw new Error('Neither a Docker engine nor Go is here, and CI=true promises real servers.');
}
