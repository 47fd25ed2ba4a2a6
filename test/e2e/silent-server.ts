import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { z } from 'zod';
import { atEndOfTest } from '../cleanup.ts';

export interface SilentServer {
  readonly endpoint: string;
  /** A client has connected. */
  readonly asked: Promise<unknown>;
}

/** A server that takes every connection and answers nothing. */
export async function silentServer(): Promise<SilentServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).resume();
  });
  const asked = once(server, 'connection');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOfTest(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { endpoint: `http://127.0.0.1:${port}`, asked };
}
