import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { logDestination } from '../../src/cli/log-destination.ts';
import { createLogger } from '../../src/core/observability/logger.ts';

/** Writes one line with a log and returns the output. */
async function written(format: 'auto' | 'json' | 'text', isTTY: boolean, isForPeople: boolean): Promise<string> {
  const out = Object.assign(new PassThrough(), { isTTY });
  const log = createLogger('info', await logDestination(format, out, { isForPeople }));
  log.warn({ code: 'a/b' }, 'something is wrong');
  if (out.readableLength === 0) await new Promise((wake) => out.once('readable', wake));
  return String(out.read());
}

test.each([
  ['auto', 'elsewhere', false, false, 'json'],
  ['auto', 'a terminal', true, false, 'text'],
  ['auto', 'a command for people, into a file', false, true, 'text'],
  ['json', 'a terminal', true, true, 'json'],
  ['text', 'elsewhere', false, false, 'text'],
] as const)('%s on %s writes what is read there', async (format, _where, isTTY, isForPeople, expected) => {
  const line = await written(format, isTTY, isForPeople);
  if (expected === 'json') expect(JSON.parse(line)).toMatchObject({ level: 'warn', msg: 'something is wrong' });
  else expect(stripVTControlCharacters(line)).toMatch(/^\[[\d:]+\] WARN: something is wrong \{"code":"a\/b"\}\n$/);
  expect(line.includes('\x1b[')).toBe(expected === 'text' && isTTY);
});
