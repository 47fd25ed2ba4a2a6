import type { ByteStream } from '../../src/bundle/byte-stream.ts';

/** The bytes as a file or a server gives them: piece by piece, each in memory of its own. */
export async function* inChunks(bytes: Uint8Array, size: number): ByteStream {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}
