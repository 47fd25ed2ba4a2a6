import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface ForwardProxy {
  readonly url: string;
  /** `host:port` of everything that went through. */
  readonly passed: string[];
  stop(): Promise<void>;
}

/** A proxy as companies put it between their machines and the world: CONNECT for TLS, whole addresses for plain HTTP. */
export async function startForwardProxy(): Promise<ForwardProxy> {
  const passed: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? '');
    passed.push(target.host);
    const onward = request(target, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.on('connect', (incoming, socket, head) => {
    const target = incoming.url ?? '';
    passed.push(target);
    const [host, port] = target.split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return {
    url: `http://127.0.0.1:${address.port}`,
    passed,
    stop: async () => {
      // A tunnel is no connection of the server's any more.
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const NAMES = new Set([
  'no_proxy',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'node_extra_ca_certs',
  'node_use_env_proxy',
]);

/** The environment without what leads through a proxy or makes certificates trusted. */
export function environmentWithoutProxy(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !NAMES.has(name.toLowerCase())));
}
