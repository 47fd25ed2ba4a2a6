import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { cli } from './cli-in-process.ts';

const TOKEN = 'operators-only-4711';

/** Another program on the port that the daemon would have. */
async function squatter(status: number, headers: Record<string, string> = {}) {
  const seen: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? '', headers: request.headers });
    response.writeHead(status, headers).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return { seen, port: address.port, url: `http://127.0.0.1:${address.port}` };
}

const environment = (port: number, token: string | null) => ({
  HOLDFAST_DATA_DIR: temporaryFolder(),
  HOLDFAST_HTTP_PORT: String(port),
  ...(token === null ? {} : { HOLDFAST_TOKEN: token }),
});

test.each([['status'], ['get', 'ab'.repeat(32)]])(
  '%s sends no token to a listener at the configured port while no daemon runs',
  async (...words) => {
    const { seen, port, url } = await squatter(200);
    const ended = await cli(words, environment(port, TOKEN));
    expect(seen).toEqual([]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('Nothing was sent.');
    expect(ended.stderr).toContain(`--url ${url} and --token-file`);
    expect(ended.stderr).not.toContain(TOKEN);
  },
);

test('without a token the configured address is asked', async () => {
  const { seen, port } = await squatter(404);
  expect((await cli(['status'], environment(port, null))).code).toBe(1);
  expect(seen).toMatchObject([{ path: '/v1/status' }]);
});

test('HOLDFAST_TOKEN is not sent to an address that was typed and that nothing proves, and the command says so', async () => {
  const { seen, url } = await squatter(401);
  const ended = await cli(['status', '--url', url], environment(1, TOKEN));
  expect(seen).toMatchObject([{ path: '/v1/status' }]);
  expect(seen[0]?.headers).not.toHaveProperty('authorization');
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(`${url} asks for a token`) });
  expect(ended.stderr).toContain('HOLDFAST_TOKEN would be sent to it. It was not sent.');
  expect(ended.stderr).not.toContain(TOKEN);
});

test('an address that was typed gets the token of a file that was typed, and a redirect of it is not followed', async () => {
  const elsewhere = await squatter(200);
  const typed = await squatter(307, { location: `${elsewhere.url}/v1/status` });
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, `${TOKEN}\n`);
  const ended = await cli(['status', '--url', typed.url, '--token-file', file], environment(1, null));
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('HTTP 307') });
  expect(typed.seen).toMatchObject([{ headers: { authorization: `Bearer ${TOKEN}` } }]);
  expect(elsewhere.seen).toEqual([]);
});
