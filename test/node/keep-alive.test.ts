import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createBlob, createClient, getBlockCount, NodeError } from '../../src/client.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { delayBeforeRepetition, NO_REPETITION } from '../../src/node/read-retry.ts';
import { type Answering, fakeNode, json, result } from './fake-node.ts';

const policy = { repetitions: 2, firstDelayMs: 1, maxDelayMs: 2 };

async function clientThat(answer: Answering, retry = NO_REPETITION) {
  const fake = await fakeNode(answer);
  const client = createClient({ url: fake.url, dialect: 'syscoin-5', retry });
  onTestFinished(() => client.close());
  return { fake, client };
}

/** Resets the connection at these requests, counted from 1. */
function resetting(...at: number[]): Answering {
  let count = 0;
  return (response, seen, request) => {
    count += 1;
    if (at.includes(count)) request.socket.resetAndDestroy();
    else result(response, seen, 7);
  };
}

describe('a connection that resets before the answer', () => {
  test('a read is sent again at once', async () => {
    const { fake, client } = await clientThat(resetting(2));
    expect(await getBlockCount(client)).toBe(7);
    expect(await getBlockCount(client)).toBe(7);
    expect(fake.seen).toHaveLength(3);
  });

  test('a read is retried at once only one time', async () => {
    const { fake, client } = await clientThat(resetting(1, 2));
    await expect(getBlockCount(client)).rejects.toMatchObject({ code: 'node/connection-lost' });
    expect(fake.seen).toHaveLength(2);
  });

  test('a submission is not repeated', async () => {
    const { fake, client } = await clientThat(resetting(1), policy);
    await expect(createBlob(client, Uint8Array.of(1))).rejects.toMatchObject({ code: 'node/connection-lost' });
    expect(fake.seen).toHaveLength(1);
  });
});

describe('retries of reads follow the policy', () => {
  test('a read is retried while the node is busy', async () => {
    let count = 0;
    const { fake, client } = await clientThat((response, seen) => {
      count += 1;
      if (count < 3) response.writeHead(503).end('Work queue depth exceeded');
      else result(response, seen, 9);
    }, policy);
    expect(await getBlockCount(client)).toBe(9);
    expect(fake.seen).toHaveLength(3);
  });

  test('a read is retried no oftener than the policy says', async () => {
    const { fake, client } = await clientThat((response) => response.writeHead(503).end(), policy);
    await expect(getBlockCount(client)).rejects.toMatchObject({ code: 'node/busy' });
    expect(fake.seen).toHaveLength(3);
  });

  test('a permanent failure is not retried', async () => {
    const { fake, client } = await clientThat((response) => response.writeHead(401).end(), policy);
    await expect(getBlockCount(client)).rejects.toMatchObject({ code: 'node/unauthorized' });
    expect(fake.seen).toHaveLength(1);
  });

  test('an abort between two attempts ends them', async () => {
    const abort = new AbortController();
    const { client } = await clientThat(
      (response) => {
        response.writeHead(503).end(() => setImmediate(() => abort.abort('stop')));
      },
      { repetitions: 5, firstDelayMs: 60_000, maxDelayMs: 60_000 },
    );
    await expect(getBlockCount(client, { signal: abort.signal })).rejects.toBe('stop');
  });

  test('delayBeforeRepetition retries reads with transient failures only', () => {
    const busy = new NodeError('node/busy', '', { retryable: true, hint: '' });
    const { signal } = new AbortController();
    expect(delayBeforeRepetition(busy, { effect: 'read', signal }, 0, policy)).toBeGreaterThan(0);
    expect(delayBeforeRepetition(busy, { effect: 'submit', signal }, 0, policy)).toBeNull();
    expect(delayBeforeRepetition(busy, { effect: 'read', signal }, 2, policy)).toBeNull();
    expect(delayBeforeRepetition(busy, { effect: 'read', signal: AbortSignal.abort() }, 0, policy)).toBeNull();
    expect(delayBeforeRepetition(new Error('x'), { effect: 'read', signal }, 0, policy)).toBeNull();
  });
});

describe('the cookie file', () => {
  async function withCookie(text: string) {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-cookie-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, '.cookie');
    await writeFile(path, text);
    const accepted = { pair: text };
    const fake = await fakeNode((response, seen) => {
      if (seen.authorization !== `Basic ${btoa(accepted.pair)}`) response.writeHead(401).end();
      else json(response, 200, `{"result":3,"error":null,"id":"holdfast"}`);
    });
    const client = createClient({ url: fake.url, credentials: { cookieFile: path }, dialect: 'syscoin-5' });
    onTestFinished(() => client.close());
    return { fake, client, path, accepted };
  }

  test('the cookie file is read again after a 401 of a restarted node', async () => {
    const { fake, client, path, accepted } = await withCookie('__cookie__:first');
    // After a second the client would look at the file before its call, and get no 401.
    const clock = vi.spyOn(SYSTEM_CLOCK, 'steadyMs').mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    expect(await getBlockCount(client)).toBe(3);
    accepted.pair = '__cookie__:second';
    await writeFile(path, '__cookie__:second\n');
    expect(await getBlockCount(client)).toBe(3);
    expect(fake.seen).toHaveLength(3);
  });

  test('an unchanged cookie file leaves the 401', async () => {
    const { fake, client, accepted } = await withCookie('__cookie__:first');
    accepted.pair = 'another:one';
    await expect(getBlockCount(client)).rejects.toMatchObject({ code: 'node/unauthorized' });
    expect(fake.seen).toHaveLength(1);
  });

  test.each([
    ['missing', '/nowhere/.cookie'],
    ['a folder', '/'],
  ])('a cookie file that is %s is an error with its path', async (_what, cookieFile) => {
    const client = createClient({ url: 'http://127.0.0.1:1', credentials: { cookieFile } });
    onTestFinished(() => client.close());
    await expect(getBlockCount(client)).rejects.toMatchObject({
      code: 'node/unauthorized',
      message: expect.stringContaining(cookieFile),
    });
  });
});

/** Sets these variables until the end of the test. */
function environment(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

test('the proxy of the environment is used', async () => {
  const proxied: string[] = [];
  const proxy = createServer((request, response) => {
    proxied.push(request.url ?? '');
    response.end('{"result":1,"error":null,"id":"holdfast"}');
  });
  const answerTunnel = (request: { url?: string | undefined }, socket: import('node:stream').Duplex) => {
    proxied.push(request.url ?? '');
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.once('data', () => {
      const body = '{"result":1,"error":null,"id":"holdfast"}';
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
  };
  proxy.on('connect', answerTunnel);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const address = proxy.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  environment({ HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: 'direct.invalid' });

  const through = createClient({ url: 'http://node.invalid:8370', dialect: 'syscoin-5', retry: NO_REPETITION });
  onTestFinished(() => through.close());
  expect(await getBlockCount(through)).toBe(1);
  expect(proxied.join()).toContain('node.invalid:8370');

  const direct = createClient({ url: 'http://direct.invalid:8370', dialect: 'syscoin-5', retry: NO_REPETITION });
  onTestFinished(() => direct.close());
  await expect(getBlockCount(direct)).rejects.toMatchObject({ code: 'node/unreachable' });
});

test('a malformed proxy address is refused, and the message leaves it out', () => {
  environment({ HTTP_PROXY: 'http://user:secret@:bad' });
  const made = () => createClient({ url: 'http://node.invalid:8370' });
  expect(made).toThrow(NodeError);
  expect(made).not.toThrow(/secret/);
});
