import { spawnSync } from 'node:child_process';
import type { SuiteFactory } from 'vitest';
import { describeWhere } from '../promised.ts';

/** A suite that needs a program of Debian's. */
export function describeWithCommand(command: string, name: string, suite: SuiteFactory): void {
  const found = spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
  describeWhere(found, `${command} is not installed`)(name, suite);
}
