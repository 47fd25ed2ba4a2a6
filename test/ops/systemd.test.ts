import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/cli/cli-context.ts';
import { SETTINGS } from '../../src/config/index.ts';
import { createDevnode } from '../../src/devnode/index.ts';
import { MALLOC_ENVIRONMENT, NODE_FLAGS } from '../../src/node-flags.mjs';
import { atEndOfTest } from '../cleanup.ts';
import { describeWhere, testOnLinux } from '../promised.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The unit of systemd as it is shipped: understood by systemd, and the daemon starts and stops as it says. */

const UNIT = fileURLToPath(new URL('../../config/systemd/holdfast.service', import.meta.url));
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const LINES = readFileSync(UNIT, 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    return key === undefined || value === undefined ? [] : [{ key, value }];
  });
const all = (key: string) => LINES.filter((line) => line.key === key).map(({ value }) => value);
const one = (key: string) => all(key).at(-1) ?? '';

/** The variables that `Environment=` gives the daemon, with the folder of its state in place of `%S`. */
function environment(state: string): Record<string, string> {
  const given = all('Environment').map((value) => value.replaceAll('"', '').replace('%S', state));
  return Object.fromEntries(given.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]));
}

describe('the unit of systemd', () => {
  test('gives the daemon settings that there are, and the bounds of memory that the launcher gives', () => {
    const { NODE_OPTIONS: flags = '', ...others } = environment('/var/lib');
    expect(flags.split(' ')).toEqual(NODE_FLAGS);
    const known = new Set([...Object.values(SETTINGS).map(({ env }) => env), ...Object.keys(MALLOC_ENVIRONMENT)]);
    expect(Object.keys(others).filter((name) => !known.has(name))).toEqual([]);
    expect(others).toMatchObject({ ...MALLOC_ENVIRONMENT, HOLDFAST_DATA_DIR: `/var/lib/${one('StateDirectory')}` });
  });

  test('waits longer than a stop may take, and is started again however it ended, without a limit', () => {
    expect(Number(one('TimeoutStopSec'))).toBeGreaterThan(SETTINGS.stopSeconds.fallback);
    // A command may hold the folder at a restart: that is exit code 2, and over when the command ends.
    expect(all('RestartPreventExitStatus')).toEqual([]);
    expect(one('StartLimitIntervalSec')).toBe('0');
    expect(Number(one('SuccessExitStatus'))).toBe(EXIT.terminated);
    expect(one('Restart')).toBe('always');
  });

  test('hides the system from the daemon, and leaves V8 the memory that it compiles into', () => {
    for (const key of ['DynamicUser', 'PrivateDevices', 'PrivateTmp', 'NoNewPrivileges', 'ProtectHome']) {
      expect([key, one(key)]).toEqual([key, 'yes']);
    }
    expect([one('ProtectSystem'), one('CapabilityBoundingSet')]).toEqual(['strict', '']);
    expect(all('MemoryDenyWriteExecute')).toEqual([]);
    // Names are looked up over the first two, and commands of this machine come over the third.
    expect(one('RestrictAddressFamilies').split(' ')).toEqual(
      expect.arrayContaining(['AF_INET', 'AF_INET6', 'AF_UNIX']),
    );
  });

  testOnLinux(
    'its command, with its environment and its mask alone, starts a daemon that stops on its signal',
    async () => {
      const [state, shim] = [temporaryFolder(), temporaryFolder()];
      writeFileSync(
        join(shim, 'holdfast'),
        `#!/bin/sh\numask ${one('UMask')}\nexec "${process.execPath}" "${MAIN}" "$@"\n`,
      );
      chmodSync(join(shim, 'holdfast'), 0o755);
      const node = await createDevnode({ port: 0, blocksEveryMs: null });
      atEndOfTest(() => node.close());
      const [command = '', ...words] = one('ExecStart').split(' ');
      const daemon = spawn(command, words, {
        cwd: '/',
        env: {
          ...environment(state),
          PATH: `${shim}:/usr/bin:/bin`,
          HOLDFAST_NODE_URL: node.url.replace('//', `//${node.username}:${node.password}@`),
          HOLDFAST_HTTP_PORT: '0',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      atEndOfTest(() => daemon.kill('SIGKILL'));
      const ended = once(daemon, 'exit');
      let said = '';
      await new Promise<void>((resolve, reject) => {
        daemon.stdout.on('data', (chunk: Buffer) => {
          said += chunk.toString();
          if (/"listening"/.test(said)) resolve();
        });
        daemon.once('exit', () => reject(new Error(said)));
      });
      expect(statSync(join(state, one('StateDirectory'), 'lock.sqlite')).mode & 0o777).toBe(0o600);
      daemon.kill(one('KillSignal') === 'SIGTERM' ? 'SIGTERM' : 'SIGINT');
      expect(await ended).toEqual([Number(one('SuccessExitStatus')), null]);
    },
  );

  describeWhere(spawnSync('systemd-analyze', ['--version']).status === 0, 'there is no systemd-analyze')(
    'the unit as systemd reads it',
    () => {
      test('is understood without a word', () => {
        const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', UNIT], { encoding: 'utf8' });
        expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
      });

      test('leaves the daemon less than two points of ten exposed', () => {
        const words = ['security', '--offline=true', '--threshold=20', '--no-pager', UNIT];
        const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
        expect({ status, says: stdout.trim().split('\n').at(-1) }).toEqual({
          status: 0,
          says: expect.stringContaining('OK'),
        });
      });
    },
  );
});
