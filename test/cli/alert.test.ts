import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cli } from './cli-in-process.ts';

async function receiver(status: number) {
  const got: { signature: string | string[] | undefined; body: string }[] = [];
  const server = createServer(async (request, response) => {
    got.push({ signature: request.headers['webhook-signature'], body: await text(request) });
    response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('It has no port.');
  return { env: { HOLDFAST_ALERT_URL: `http://127.0.0.1:${address.port}/hook-token` }, got };
}

describe('holdfast alert test', () => {
  test('posts one alert that says that it is a test, in the format that is set, signed where there is a secret', async () => {
    const { env, got } = await receiver(200);
    const signed = { ...env, HOLDFAST_ALERT_SECRET: 'horse', HOLDFAST_ALERT_FORMAT: 'slack' };
    expect(await cli(['alert', 'test'], signed)).toEqual({
      code: 0,
      stdout: 'taken: a test in the format slack, signed\n',
      stderr: '',
    });
    expect(got).toEqual([{ signature: expect.stringMatching(/^v1,/), body: expect.stringContaining('Holdfast test') }]);
    const { code, stdout } = await cli(['alert', 'test', '--json'], env);
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      id: expect.any(String),
      format: 'json',
      isSigned: false,
    });
    expect(JSON.parse(got[1]?.body ?? '')).toMatchObject({ version: 1, event: 'test', severity: null });
  });

  test('a test that the receiver refuses is exit code 1, and does not show the address', async () => {
    const { env } = await receiver(403);
    const { code, stderr } = await cli(['alert', 'test'], env);
    expect(code).toBe(1);
    expect(stderr).toContain('it answered 403');
    expect(stderr).not.toContain('hook-token');
  });

  test.each([
    ['without a receiver', ['alert', 'test'], 'HOLDFAST_ALERT_URL is not set'],
    ['without an action', ['alert'], 'missing required argument'],
    ['of an action that there is not', ['alert', 'shout'], 'Allowed choices are test'],
  ])('%s is exit code 2', async (_what, words, says) => {
    const { code, stderr } = await cli(words);
    expect(code).toBe(2);
    expect(stderr).toContain(says);
  });
});
