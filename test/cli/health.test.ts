import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const HEALTH = fileURLToPath(new URL('../../src/cli/health.ts', import.meta.url));
/**
 * Prints, at the end of the process, whether the configuration's schema was loaded, and whether Node's HTTP client was. The
 * patience of the program lasts two minutes: the server of a test answers late on a crowded machine.
 */
const WATCH =
  'data:text/javascript,const{timeout}=AbortSignal;AbortSignal.timeout=ms=>timeout.call(AbortSignal,24*ms);import{registerHooks}from"node:module";let files=-1,zod=false;registerHooks({load(url,context,next){if(url.startsWith("file:"))files++;if(url.includes("/zod/"))zod=true;return next(url,context)}});process.on("exit",()=>console.log(zod?"loaded":"light",process.moduleLoadList.includes("NativeModule _http_client")?"http":"socket",files))';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function answering(status: number): Promise<number> {
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/healthz' ? status : 404).end(),
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return portOf(server);
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}

async function health(env: Readonly<Record<string, string>>): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, ['--import', WATCH, HEALTH], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const part of child.stdout) said += String(part);
  return { code: child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve))), said };
}

function announcing(text: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'daemon.json'), text);
  return folder;
}

test('asks the address in the data folder, and loads for that neither the program nor an HTTP client', async () => {
  const url = `http://0.0.0.0:${await answering(200)}`;
  const { code, said } = await health({ HOLDFAST_DATA_DIR: announcing(JSON.stringify({ pid: 1, url })) });
  expect([code, said]).toEqual([0, expect.stringMatching(/127\.0\.0\.1:\d+\/healthz answers 200\nlight socket 0\n/)]);
});

test.each([500, 503])('a daemon that answers %d is not healthy', async (status) => {
  const url = `http://127.0.0.1:${await answering(status)}`;
  const { code, said } = await health({ HOLDFAST_DATA_DIR: announcing(JSON.stringify({ url })) });
  expect([code, said]).toEqual([1, expect.stringContaining(`answers ${status}`)]);
});

test.each(['{"url"', '[]', '{"url":7}', '{"url":"nowhere"}'])(
  'asks the configured port where the folder holds %s',
  async (text) => {
    const port = String(await answering(200));
    const { code, said } = await health({ HOLDFAST_DATA_DIR: announcing(text), HOLDFAST_HTTP_PORT: port });
    expect([code, said]).toEqual([0, expect.stringMatching(/answers 200\nloaded /)]);
  },
);

test('a daemon that does not answer is not healthy, and the line says so', async () => {
  // No server asks for this port, and none is given it.
  const { code, said } = await health({
    HOLDFAST_DATA_DIR: announcing(JSON.stringify({ url: 'http://127.0.0.1:9' })),
  });
  expect([code, said]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
});

test('a port that answers with something else than HTTP is not healthy, also when it never ends a line', async () => {
  const server = createTcpServer((socket) => void socket.on('error', () => {}).end('x'.repeat(100_000)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  const url = `http://127.0.0.1:${portOf(server)}`;
  const { code, said } = await health({ HOLDFAST_DATA_DIR: announcing(JSON.stringify({ url })) });
  expect([code, said]).toEqual([1, expect.stringContaining('does not answer with HTTP')]);
});
