import type { IncomingMessage, Server } from 'node:http';
import { z } from 'zod';
import { messageOf } from '../core/blob/errors.ts';
import { createServer } from '../core/node-http.ts';
import { ADMIN_ROUTES, type AdminTarget } from './admin-routes.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** The admin port. It checks no credentials, so bind it to the loopback address. */
export class AdminServer {
  readonly #server: Server;

  private constructor(devnode: AdminTarget) {
    this.#server = createServer((request, response) => {
      const reply = (status: number, body: unknown): void => {
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
      };
      answer(devnode, request).then(
        (body) => (body === undefined ? reply(404, { error: 'No such route.' }) : reply(200, body)),
        (error: unknown) =>
          reply(400, { error: error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error) }),
      );
    });
  }

  static async listen(devnode: AdminTarget, { host, port }: { host: string; port: number }): Promise<AdminServer> {
    const admin = new AdminServer(devnode);
    await new Promise<void>((resolve, reject) => {
      admin.#server.once('error', reject);
      admin.#server.listen(port, host, resolve);
    });
    return admin;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The admin port does not listen.');
    return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

async function answer(devnode: AdminTarget, request: IncomingMessage): Promise<unknown> {
  // The port checks no credentials, so a web page in a local browser must not reach it.
  if (request.headers.origin !== undefined) throw new Error('The admin port does not answer browsers.');
  const found = ADMIN_ROUTES[`${request.method} ${request.url}`];
  if (found === undefined) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new RangeError(`The body is larger than ${MAX_BODY_BYTES} bytes.`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  return found(devnode, text === '' ? {} : JSON.parse(text));
}
