import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { loadedModules } from './loaded-modules.ts';

/** Counted in modules and bytes: a time would say more of the machine than of the program. */

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** The argument parser has seven files of 127 kB; the rest is ours. */
const SMALLEST = { files: 20, bytes: 170_000 };
/** The schema library and the YAML parser, which every command needs to read its configuration. */
const WITH_CONFIGURATION = { files: 300, bytes: 1_700_000 };
const PACKAGE = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/;
const packagesOf = (files: readonly string[]) => new Set(files.flatMap((file) => PACKAGE.exec(file)?.[1] ?? []));
const HEAVY = /^(@aws-sdk\/.*|@smithy\/.*|kubo-rpc-client|fastify|undici|prom-client|pino-pretty|bitcoinjs-lib)$/;

/** Counts Node's own modules of that name that the entry loads. */
function builtinsLoadedBy(entry: string, name: string): number {
  const address = new URL(`../../src/${entry}`, import.meta.url).href;
  const script = `await import(${JSON.stringify(address)});
    console.log(process.moduleLoadList.filter((one) => one.endsWith(${JSON.stringify(` ${name}`)})).length)`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(stderr);
  return Number(stdout);
}

test.each(['app/daemon.ts', 'cli/daemon-client.ts', 'storage/s3/s3-store.ts', 'devnode/index.ts'])(
  '%s uses the HTTP of Node without loading the fetch of Node',
  (entry) => {
    expect(builtinsLoadedBy(entry, 'internal/deps/undici/undici')).toBe(0);
    expect(builtinsLoadedBy(entry, '_http_client')).toBe(1);
  },
);

describe('modules that a command loads before it runs', () => {
  test.each([['--version'], ['--help'], ['help']])('%s loads the argument parser alone', async (word) => {
    const { code, stdout, files, bytes } = await loadedModules(MAIN, [word]);
    expect(code).toBe(0);
    expect(stdout).toMatch(word === '--version' ? /^\d+\.\d+\.\d+\n$/ : /^Usage: holdfast/);
    expect([...packagesOf(files)]).toEqual(['commander']);
    expect(files.length).toBeLessThanOrEqual(SMALLEST.files);
    expect(bytes).toBeLessThanOrEqual(SMALLEST.bytes);
  });

  test.each(['status --help', 'help status', 'run --help', 'check --help', 'config'])(
    '%s loads no client and no server',
    async (line) => {
      const words = line.split(' ');
      const { code, files, bytes } = await loadedModules(MAIN, words, { HOLDFAST_DATA_DIR: temporaryFolder() });
      expect(code).toBe(0);
      expect([...packagesOf(files)].filter((name) => HEAVY.test(name))).toEqual([]);
      expect(files.length).toBeLessThanOrEqual(WITH_CONFIGURATION.files);
      expect(bytes).toBeLessThanOrEqual(WITH_CONFIGURATION.bytes);
    },
  );

  test('a daemon without --dev loads neither the emulated node nor the log for people', async () => {
    const { code, files } = await loadedModules(MAIN, ['run'], { HOLDFAST_DATA_DIR: temporaryFolder() });
    expect(code).toBe(2);
    expect(files.filter((file) => /\/src\/(devnode|app)\/|\/pino-pretty\/|\/log-update\//.test(file))).toEqual([]);
  });
});
