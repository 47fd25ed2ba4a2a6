import { giveBackMemory, lendMemory } from '../core/blob/lent-memory.ts';

/** Bytes of a stream. Each chunk belongs to the consumer. */
export type ByteStream = AsyncIterable<Uint8Array>;

export interface Head {
  readonly bytes: Uint8Array;
  /** The stream after the head; null when there was no more. */
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

/** Reads a stream piece by piece, and copies each byte once into memory that the caller owns. */
export class StreamReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that were taken. */
  #taken = 0;
  #available = 0;
  #position = 0;

  constructor(stream: ByteStream) {
    this.#iterator = stream[Symbol.asyncIterator]();
  }

  /** Bytes that were taken. */
  get position(): number {
    return this.#position;
  }

  /** The next bytes, to be taken later: fewer where the stream ends. */
  async peek(length: number): Promise<Uint8Array> {
    await this.#fill(length);
    return this.#copied(new Uint8Array(Math.min(length, this.#available)));
  }

  /** null: the stream ends before, and what is left of it was passed over. */
  async take(length: number): Promise<Uint8Array | null> {
    await this.#fill(length);
    const bytes = length > this.#available ? null : this.#copied(new Uint8Array(lendMemory(length), 0, length));
    this.#pass(Math.min(length, this.#available));
    return bytes;
  }

  async #fill(length: number): Promise<void> {
    while (this.#available < length) {
      const next = await this.#iterator.next();
      if (next.done === true) return;
      this.#chunks.push(next.value);
      this.#available += next.value.length;
    }
  }

  #copied(target: Uint8Array): Uint8Array {
    let at = 0;
    let begin = this.#taken;
    for (const chunk of this.#chunks) {
      if (at === target.length) break;
      const piece = chunk.subarray(begin, begin + target.length - at);
      target.set(piece, at);
      at += piece.length;
      begin = 0;
    }
    return target;
  }

  #pass(length: number): void {
    this.#position += length;
    this.#available -= length;
    this.#taken += length;
    for (let [chunk] = this.#chunks; chunk !== undefined && this.#taken >= chunk.length; [chunk] = this.#chunks) {
      this.#taken -= chunk.length;
      this.#chunks.shift();
      giveBackMemory(chunk);
    }
  }
}
