import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { PrivateAuthority } from './private-authority.ts';

export interface TlsFront {
  readonly url: string;
  stop(): Promise<void>;
}

/** Ends TLS before a server that speaks none, as operators put one before Kubo. */
export async function startTlsFront(authority: PrivateAuthority, behind: URL): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const server = createServer({ cert: readFileSync(authority.certFile), key: readFileSync(authority.keyFile) });
  server.on('secureConnection', (socket) => {
    const onward = connect(Number(behind.port), behind.hostname);
    for (const one of [socket, onward]) sockets.add(one);
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return {
    url: `https://127.0.0.1:${address.port}`,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
