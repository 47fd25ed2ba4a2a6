import { spawnSync } from 'node:child_process';
import { describe, type SuiteFactory } from 'vitest';

/** Nothing is skipped where the whole suite is promised to run. */
const PROMISED = process.env['CI'] === 'true';

/** A suite that needs a program of Debian's: skipped by name where it is not installed, failing there with CI=true. */
export function describeWithCommand(command: string, name: string, suite: SuiteFactory): void {
  const found = spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
  if (found || PROMISED) describe(name, suite);
  else describe.skip(`${name} (skipped: ${command} is not installed)`, suite);
}
