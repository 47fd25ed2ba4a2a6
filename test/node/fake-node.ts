import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Seen {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

export interface FakeNode {
  readonly url: string;
  /** Requests so far, oldest first. */
  readonly seen: readonly Seen[];
  /** Returns the number of accepted sockets. */
  connections(): number;
}

export type Answering = (response: ServerResponse, seen: Seen, request: IncomingMessage) => unknown;

/** Starts a real HTTP server that answers as the test says. It ends with the test. */
export async function fakeNode(answer: Answering): Promise<FakeNode> {
  const seen: Seen[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        authorization: request.headers.authorization,
        contentType: request.headers['content-type'],
        body: Buffer.concat(chunks).toString('utf8'),
      };
      seen.push(one);
      answer(response, one, request);
    });
  });
  // A socket that closes by itself would break a request that a held-up process sends over it later.
  server.keepAliveTimeout = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const { port } = addressOf(server.address());
  return { url: `http://127.0.0.1:${port}`, seen, connections: () => connections };
}

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address;
}

/** Answers as the node writes it: JSON and a line feed, with its length. */
export function json(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

export function result(response: ServerResponse, seen: Seen, value: unknown): void {
  json(response, 200, `${JSON.stringify({ result: value, error: null, id: idOf(seen) })}\n`);
}

export function rpcError(response: ServerResponse, seen: Seen, code: number, message: string): void {
  json(response, 500, `${JSON.stringify({ result: null, error: { code, message }, id: idOf(seen) })}\n`);
}

/** The single call of a request. */
export function callOf(seen: Seen): { id: unknown; method: unknown; params: unknown } {
  const parsed: unknown = JSON.parse(seen.body);
  if (typeof parsed !== 'object' || parsed === null) throw new Error('That is no call.');
  return {
    id: 'id' in parsed ? parsed.id : undefined,
    method: 'method' in parsed ? parsed.method : undefined,
    params: 'params' in parsed ? parsed.params : undefined,
  };
}

function idOf(seen: Seen): unknown {
  return callOf(seen).id;
}
