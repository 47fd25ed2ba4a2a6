import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  assetAllocationSend,
  assetAllocationSendMany,
  createBlob,
  createClient,
  type Dialect,
  type NodeClient,
} from '../../src/client.ts';
import { createBlobNode, NodeError, type NodeErrorCode, type TransportOptions } from '../../src/node/index.ts';
import { type Answering, fakeNode, json, rpcError } from './fake-node.ts';

const never = new AbortController().signal;

async function tipOf(answer: Answering, options: Partial<TransportOptions> = {}): Promise<unknown> {
  const fake = await fakeNode(answer);
  return failure({ url: fake.url, ...options });
}

async function failure(options: TransportOptions, signal = never): Promise<unknown> {
  const node = createBlobNode(options);
  onTestFinished(() => node.close());
  return node.tip(signal).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Starts a bare socket server, which can send what an HTTP server cannot. Returns its port. */
async function rawServer(talk: (write: (text: string) => void, close: () => void) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      talk(
        (text) => socket.write(text),
        () => socket.destroySoon(),
      ),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const HTML = '<!doctype html><title>It works!</title>';
const html: Answering = (response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(HTML);
};

describe('a server that is no node', () => {
  const cases: [string, Answering, object][] = [
    ['HTML', html, { code: 'node/not-a-node', retryable: false }],
    ['an empty body', (response) => response.end(), { code: 'node/not-a-node' }],
    ['plain text', (response) => response.end('hello'), { code: 'node/not-a-node' }],
    [
      'a redirect with an answer in it',
      (response) => response.writeHead(307, { location: '/' }).end('{"result":1,"error":null,"id":"holdfast"}'),
      { code: 'node/not-a-node', message: expect.stringContaining('redirects') },
    ],
    ['a redirect', (response) => response.writeHead(302, { location: '/' }).end(), { code: 'node/not-a-node' }],
    ['404 without a body, an unknown path', (response) => response.writeHead(404).end(), { code: 'node/not-a-node' }],
    ['JSON that answers nothing', (response) => json(response, 200, '{"hello":1}'), { code: 'node/malformed-answer' }],
    ['a list', (response) => json(response, 200, '[]'), { code: 'node/malformed-answer' }],
    ['invalid JSON', (response) => json(response, 200, '{"result":x}'), { code: 'node/malformed-answer' }],
    ['cut JSON', (response) => json(response, 200, '{"result":{"chain":"reg'), { code: 'node/malformed-answer' }],
    [
      'the answer to another call',
      (response) => json(response, 200, '{"result":{},"error":null,"id":"x"}'),
      { code: 'node/malformed-answer' },
    ],
    [
      'fields of a wrong type',
      (response, seen) =>
        json(response, 200, JSON.stringify({ result: { blocks: '5' }, error: null, id: JSON.parse(seen.body).id })),
      { code: 'node/malformed-answer', details: { field: 'blocks' } },
    ],
    [
      'an error that is no object',
      (response) => json(response, 500, '{"result":null,"error":"x","id":"x"}'),
      { code: 'node/malformed-answer' },
    ],
    ['401', (response) => response.writeHead(401).end(), { code: 'node/unauthorized', retryable: false }],
    ['403', (response) => response.writeHead(403).end(), { code: 'node/unauthorized' }],
    [
      '503',
      (response) => response.writeHead(503).end('Work queue depth exceeded'),
      { code: 'node/busy', retryable: true },
    ],
    [
      '500 of an older release',
      (response) => response.writeHead(500).end('Work queue depth exceeded'),
      { code: 'node/busy', retryable: true },
    ],
    ['502 of a proxy', (response) => response.writeHead(502).end(HTML), { code: 'node/unreachable', retryable: true }],
    [
      '-28',
      (response, seen) => rpcError(response, seen, -28, 'Verifying blocks…'),
      { code: 'node/warming-up', retryable: true, rpcCode: -28 },
    ],
    ['-18', (response, seen) => rpcError(response, seen, -18, 'x'), { code: 'node/unknown-wallet' }],
    [
      '-32601',
      (response, seen) => rpcError(response, seen, -32601, 'Method not found'),
      { code: 'node/method-not-found' },
    ],
  ];
  test.each(cases)('%s', async (_what, answer, expected) => {
    const error = await tipOf(answer);
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject(expected);
    expect(error).toMatchObject({ hint: expect.stringMatching(/\w/) });
  });

  test('a body announced with 1 GiB is cut off before it arrives', async () => {
    const error = await tipOf((response) => {
      response.writeHead(200, { 'content-length': 2 ** 30 });
      response.write('{');
    });
    expect(error).toMatchObject({ code: 'node/body-too-large', details: { bytes: 2 ** 30 } });
  });

  test('an endless body is cut off at the limit', async () => {
    const error = await tipOf((response) => {
      const piece = Buffer.alloc(64 * 1024, 0x20);
      const pour = () => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', pour);
      pour();
    });
    expect(error).toMatchObject({ code: 'node/body-too-large' });
  });

  test('another protocol is reported as not HTTP', async () => {
    const port = await rawServer((write) => write('SSH-2.0-OpenSSH_9.9\r\n'));
    expect(await failure({ url: `http://127.0.0.1:${port}` })).toMatchObject({ code: 'node/not-a-node' });
  });

  test('an answer that breaks off is reported as a lost connection', async () => {
    const port = await rawServer((write, close) => {
      write('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"result":');
      close();
    });
    expect(await failure({ url: `http://127.0.0.1:${port}` })).toMatchObject({
      code: 'node/connection-lost',
      retryable: true,
      details: { phase: 'answering' },
    });
  });

  test('a closed port is unreachable', async () => {
    expect(await failure({ url: 'http://127.0.0.1:1' })).toMatchObject({ code: 'node/unreachable', retryable: true });
  });

  test('a silent server times out', async () => {
    const error = await tipOf(() => undefined, { timeouts: { callMs: 30 } });
    expect(error).toMatchObject({ code: 'node/timeout', retryable: true });
  });
});

describe('abort, timeout and failure are distinct outcomes', () => {
  test('an abort throws the signal’s own reason and closes the socket', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const closed = Promise.withResolvers<void>();
    const fake = await fakeNode((response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{');
      abort.abort(reason);
    });
    expect(await failure({ url: fake.url }, abort.signal)).toBe(reason);
    await closed.promise;
  });

  test('an aborted signal sends nothing', async () => {
    const fake = await fakeNode((response) => response.end());
    expect(await failure({ url: fake.url }, AbortSignal.abort('no'))).toBe('no');
    expect(fake.seen).toEqual([]);
  });

  test('a call after close is refused', async () => {
    const node = createBlobNode({ url: 'http://127.0.0.1:1' });
    await node.close();
    await expect(node.tip(never)).rejects.toMatchObject({ code: 'node/closed' });
  });
});

describe('addresses', () => {
  test.each(['', 'localhost:8370', 'ftp://host/', 'http://u:secret@', 'http://h/?a=1', 'http://u:%zz@h/'])(
    '%j is refused, and the message leaves it out',
    (url) => {
      const made = () => createBlobNode({ url });
      expect(made).toThrow(NodeError);
      expect(made).not.toThrow(/secret/);
    },
  );

  test('credentials in the address are sent and shown nowhere', async () => {
    const fake = await fakeNode((response) => response.writeHead(401).end());
    const url = fake.url.replace('http://', 'http://al%40ice:s%3Acret@');
    const error = await failure({ url });
    expect(fake.seen[0]?.authorization).toBe(`Basic ${btoa('al@ice:s:cret')}`);
    const everything = [error, error instanceof Error ? [error.message, error.stack, error.cause] : null];
    expect(JSON.stringify(everything) + JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(
      /cret|al@ice|al%40/,
    );
    expect(createBlobNode({ url }).name).toBe(fake.url);
  });

  test('the path in front of the node is kept', async () => {
    const fake = await fakeNode((response) => response.end());
    await failure({ url: `${fake.url}/some/where/` });
    expect(fake.seen[0]?.path).toBe('/some/where/');
  });
});

describe('a submission that a proxy answers for the node', () => {
  const allocation = { guid: 123456n, address: 'tsys1qtheaddressofanother', amount: '1' };
  async function clientOf(dialect: Dialect, answer: Answering) {
    const fake = await fakeNode(answer);
    const client = createClient({ url: fake.url, dialect });
    onTestFinished(() => client.close());
    return { fake, client };
  }
  const page = (status: number): Answering => {
    return (response) => response.writeHead(status, { 'content-type': 'text/html' }).end(HTML);
  };

  test.each([
    { dialect: 'syscoin-5', send: (client: NodeClient) => createBlob(client, new Uint8Array([1])) },
    { dialect: 'syscoin-4.2', send: (client: NodeClient) => assetAllocationSend(client, allocation) },
    { dialect: 'syscoin-4.2', send: (client: NodeClient) => assetAllocationSendMany(client, [allocation]) },
  ] as const)('is told as one that may have been executed ($dialect)', async ({ dialect, send }) => {
    for (const status of [302, 307, 408, 500, 502, 503, 504, 524]) {
      const { fake, client } = await clientOf(dialect, page(status));
      await expect(send(client)).rejects.toMatchObject({ code: 'node/connection-lost', details: { status } });
      expect(fake.seen).toHaveLength(1);
    }
  });

  test.each<[string, Answering]>([
    ['a page', html],
    ['an empty body', (response) => response.end()],
    ['a body that is too long', (response) => response.end('x'.repeat(2 ** 19))],
    ['what is no HTTP', (_response, _seen, request) => request.socket.end('OK\r\n\r\n')],
  ])('with %s is told as one that may have been executed', async (_what, answer) => {
    const { client } = await clientOf('syscoin-5', answer);
    const sent = createBlob(client, new Uint8Array([1]));
    await expect(sent).rejects.toMatchObject({
      code: 'node/connection-lost',
      hint: expect.stringContaining('before you send it again'),
    });
  });

  test.each<[string, Answering, NodeErrorCode]>([
    ['the node’s full queue', (response) => response.writeHead(503).end('Work queue depth exceeded'), 'node/busy'],
    ['the same of older releases', (response) => response.writeHead(500).end('Work queue depth exceeded'), 'node/busy'],
    ['a limit of the proxy', page(429), 'node/busy'],
    ['a page for an unknown path', page(404), 'node/not-a-node'],
  ])('with %s is told as one that was not executed', async (_what, answer, code) => {
    const { client } = await clientOf('syscoin-5', answer);
    await expect(createBlob(client, new Uint8Array([1]))).rejects.toMatchObject({ code });
  });
});
