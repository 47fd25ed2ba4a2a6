import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { disarmed } from '../../src/cli/cli-context.ts';
import { cli } from './cli-in-process.ts';

/** A text that would name the terminal's window, and clear the screen by a single character of the upper set. */
const ARMED = '\u001b]0;mine\u0007 is away \u009b2J';
const SHOWN = '\\u001b]0;mine\\u0007 is away \\u009b2J';

test('a terminal obeys nothing of what is shown, lines and columns stay, and JSON is the same value', () => {
  expect(disarmed(`a\tb\n${ARMED}\r`)).toBe(`a\tb\n${SHOWN}\\u000d`);
  expect(JSON.parse(disarmed(JSON.stringify({ says: ARMED })))).toEqual({ says: ARMED });
});

test('the words of a server at an address reach the terminal without what it obeys', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ code: 'archive/not-ready', detail: ARMED, hint: ARMED }));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { code, stderr } = await cli(['status', '--url', `http://127.0.0.1:${port}`]);
  expect([code, stderr]).toEqual([1, `holdfast: ${SHOWN}\n  ${SHOWN}\n`]);
});
