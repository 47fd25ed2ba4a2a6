import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { humanLog } from '../../src/cli/human-log.ts';
import { endOnOutputErrors } from '../../src/cli/output-errors.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { atEndOfTest } from '../cleanup.ts';
import { testOnLinux } from '../promised.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

const failure = (code: string) => Object.assign(new Error(`${code}: it says so, write`), { code });

/** Gives what a command whose standard output fails like this says, and its exit code; null: it goes on. */
function afterError(code: string, isDaemon: boolean) {
  const [stdout, stderr] = [new Writable(), new Writable()];
  let said = '';
  stderr.write = (text: string) => {
    said += text;
    return true;
  };
  let exitCode: number | null = null;
  endOnOutputErrors(
    { stdout, stderr },
    () => isDaemon,
    (given) => {
      exitCode = given;
    },
  );
  stdout.emit('error', failure(code));
  stderr.emit('error', failure(code));
  return { exitCode, said };
}

describe('standard output that cannot be written', () => {
  test.each(['ENOSPC', 'EDQUOT', 'EIO'])('with %s costs a daemon its lines alone, and ends another command', (code) => {
    expect(afterError(code, true)).toEqual({ exitCode: null, said: '' });
    expect(afterError(code, false)).toMatchObject({
      exitCode: 1,
      said: expect.stringMatching(/^holdfast: Standard output cannot be written: /),
    });
  });

  test('because its reader left ends each command without a word', () => {
    for (const isDaemon of [true, false]) expect(afterError('EPIPE', isDaemon)).toEqual({ exitCode: 1, said: '' });
  });

  testOnLinux('ends a command with a message and no stack', () => {
    const full = openSync('/dev/full', 'w');
    atEndOfTest(() => closeSync(full));
    const { status, stderr } = spawnSync(process.execPath, [MAIN, '--version'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^holdfast: Standard output cannot be written: .*\n {2}Send it .*\n$/),
    });
  });
});

test('log lines for people are written again once their disk has room', () => {
  let isFull = true;
  const lines: string[] = [];
  const disk = new Writable();
  disk.write = (chunk: Buffer) => {
    if (isFull) return disk.emit('error', failure('ENOSPC'));
    lines.push(chunk.toString());
    return true;
  };
  disk.on('error', () => {});
  const log = createLogger('info', humanLog(disk));
  log.info('dropped');
  isFull = false;
  log.info('written');
  expect(lines.join('')).toMatch(/written\n$/);
});
