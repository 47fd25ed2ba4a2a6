import { describe, type SuiteFactory, test } from 'vitest';

/** CI=true promises the whole suite: what a test needs and is not there is a failure then, not a reason to skip. */
export const PROMISED = process.env['CI'] === 'true';

type DescribeHere = (name: string, suite: SuiteFactory) => void;
type TestHere = (name: string, body: () => Promise<void> | void, timeoutMs?: number) => void;

/** Suites that need something of their machine. Where it is not there they are skipped, and their names say what is missing. */
export function describeWhere(isThere: boolean, missing: string): DescribeHere {
  if (isThere) return (name, suite) => describe(name, suite);
  if (PROMISED) return (name) => describe(name, () => fail(missing));
  return (name, suite) => describe.skip(`${name} (skipped: ${missing})`, suite);
}

/** The same for one test. */
export function testWhere(isThere: boolean, missing: string): TestHere {
  if (isThere) return (name, body, timeoutMs) => test(name, body, timeoutMs);
  if (PROMISED) return (name) => describe(name, () => fail(missing));
  return (name, body) => test.skip(`${name} (skipped: ${missing})`, body);
}

/** Tests that look at /proc. */
export const testOnLinux = testWhere(process.platform === 'linux', 'this is not Linux');

function fail(missing: string): void {
  test('runs here', () => {
    throw new Error(`CI=true promises that nothing is skipped, and ${missing}.`);
  });
}
