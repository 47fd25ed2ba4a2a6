import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

export interface Asked {
  readonly method: string;
  /** Path without its first part (the bucket), or the query of a listing. */
  readonly key: string;
  readonly path: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Behaviour = (asked: Asked, response: ServerResponse) => void;

export interface MisbehavingServer {
  readonly endpoint: string;
  readonly asked: Asked[];
}

/** A server on a real socket that answers as the test says: what no real one can be made to do on demand. */
export async function misbehavingServer(behave: Behaviour): Promise<MisbehavingServer> {
  const asked: Asked[] = [];
  // A server that closes idle connections would meet the next request after a pause of the process.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://server');
      const key = decodeURIComponent(url.pathname.split('/').slice(2).join('/')) || url.search;
      const { headers, method = '' } = request;
      const one = { method, key, path: url.pathname, url, headers, body: Buffer.concat(chunks) };
      asked.push(one);
      behave(one, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return { endpoint: `http://127.0.0.1:${address.port}`, asked };
}

export function s3Error(response: ServerResponse, status: number, code: string, message = 'No.'): void {
  response.writeHead(status, { 'content-type': 'application/xml', 'x-amz-request-id': 'R1' });
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  );
}

export function html(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' });
  response.end('<!DOCTYPE html><html><head><title>Hello</title></head><body><p>Welcome & enjoy<br></body></html>');
}

export function object(response: ServerResponse, body: Uint8Array, etag = '"e1"'): void {
  response.writeHead(200, { etag, 'content-length': body.length });
  response.end(body);
}
