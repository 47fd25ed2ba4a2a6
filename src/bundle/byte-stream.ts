/** Bytes as they come. A chunk belongs to whoever takes it. */
export type ByteStream = AsyncIterable<Uint8Array>;

export interface Head {
  readonly bytes: Uint8Array;
  /** What follows, the head not among it; null: there was no more. */
  readonly rest: ByteStream | null;
}

/** Reads until there are more than `limit` bytes, or no more to come. */
export async function readHead(stream: ByteStream, limit: number): Promise<Head> {
  const iterator = stream[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= limit) {
    const next = await iterator.next();
    if (next.done === true) return { bytes: joined(chunks, length), rest: null };
    chunks.push(next.value);
    length += next.value.length;
  }
  return { bytes: joined(chunks, length), rest: { [Symbol.asyncIterator]: () => iterator } };
}

export async function* behind({ bytes, rest }: Head): ByteStream {
  yield bytes;
  if (rest !== null) yield* rest;
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
