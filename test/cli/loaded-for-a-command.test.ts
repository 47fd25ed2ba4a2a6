import { expect, test } from 'vitest';
import { packagesOf } from '../loaded-packages.ts';

/** Packages that only a daemon, or a command that runs alone, has a use for. */
const OF_THE_DAEMON = ['fastify', 'prom-client', 'pino-pretty', 'hash-wasm'];

function loadedBy(file: string): string[] {
  const packages = packagesOf(new URL(`../../src/cli/${file}`, import.meta.url));
  return OF_THE_DAEMON.filter((name) => packages.has(name));
}

test.each(['status', 'withhold', 'check', 'rebuild', 'config'])(
  'holdfast %s, which asks a daemon, starts without the packages of the daemon',
  (verb) => {
    expect(loadedBy(`verbs/${verb}.ts`)).toEqual([]);
  },
);

test('the command line itself loads no verb before the verb is asked for', () => {
  expect(loadedBy('main.ts')).toEqual([]);
  expect(loadedBy('run-cli.ts')).toEqual([]);
});

test('a daemon without --dev starts without what only people see, and without the emulated node', () => {
  const packages = packagesOf(new URL('../../src/cli/verbs/run.ts', import.meta.url));
  expect(['log-update', 'pino-pretty'].filter((name) => packages.has(name))).toEqual([]);
});

test('holdfast init loads the questions only when it asks', () => {
  const packages = packagesOf(new URL('../../src/cli/verbs/init.ts', import.meta.url));
  expect([...packages].filter((name) => name.startsWith('@clack/'))).toEqual([]);
});
