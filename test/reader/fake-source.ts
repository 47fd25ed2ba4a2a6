import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

export interface FakeSource {
  readonly url: string;
  /** Paths of the requests so far. */
  readonly asked: string[];
  behave: Behaviour;
}

/** Starts a server on a real socket that answers as the test says. */
export async function fakeSource(behave: Behaviour): Promise<FakeSource> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    source.behave(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  const source: FakeSource = { url: `http://127.0.0.1:${address.port}`, asked, behave };
  return source;
}

export const gives =
  (bytes: Uint8Array | string, status = 200): Behaviour =>
  (_request, response) => {
    response.writeHead(status).end(bytes);
  };

export const problem =
  (status: number, code: string): Behaviour =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ status, code, detail: 'As said.' }));
  };

export const hangs: Behaviour = () => undefined;

/** Sends half of the announced body, then breaks the connection. */
export const cuts =
  (bytes: Uint8Array): Behaviour =>
  (_request, response) => {
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  };

/** Sends an endless body without a length. */
export const pours: Behaviour = (_request, response) => {
  const chunk = Buffer.alloc(262_144, 7);
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more);
  more();
};
