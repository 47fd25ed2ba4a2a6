import { connect, type Socket } from 'node:net';
import type { Figure } from '../figure.ts';
import { processFigure } from './process-figure.ts';

const READERS = 1_000;
const AT_ONCE = 100;
const MIB = 1_048_576;
/** The bound, of the 2,000 MiB that they ask for: the memory for what is asked for often, and a little for each. */
const MAX_MORE_MIB = 200;

/** Measures what readers that ask and do not read add to the resident memory of a daemon. */
export async function benchSlowReaders(url: string, paths: readonly string[]): Promise<Figure[]> {
  const residentMib = async () => (await processFigure(url, 'process_resident_memory_bytes')) / MIB;
  const before = await residentMib();
  const readers: Socket[] = [];
  const most: number[] = [];
  try {
    while (readers.length < READERS) {
      const more = Array.from({ length: AT_ONCE }, (_, index) => slowReader(url, paths[index % paths.length] ?? ''));
      readers.push(...(await Promise.all(more)));
      most.push(await residentMib());
    }
  } finally {
    for (const reader of readers) reader.destroy();
  }
  return [
    {
      name: `${READERS.toLocaleString('en')} readers of 2 MiB that do not read: memory more`,
      value: Math.max(...most) - before,
      unit: 'MiB',
      most: MAX_MORE_MIB,
    },
    { name: '  of that with the first hundred', value: (most[0] ?? before) - before, unit: 'MiB' },
  ];
}

/** Takes nothing but the first piece. */
function slowReader(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('error', reject);
    socket.once('data', () => {
      socket.pause();
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\n\r\n`);
  });
}
