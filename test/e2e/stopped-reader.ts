import { once } from 'node:events';
import { connect } from 'node:net';
import { atEndOfTest } from '../cleanup.ts';

/** Asks for the same blob many times over one connection, more than sockets hold, and reads no more than the first piece. */
export async function readerThatStops(url: string, versionHash: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {});
  atEndOfTest(() => void socket.destroy());
  socket.write(`GET /v1/blobs/${versionHash} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(30));
  await once(socket, 'data');
  socket.pause();
}
