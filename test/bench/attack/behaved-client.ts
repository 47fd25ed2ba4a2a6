import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'undici';
import { z } from 'zod';

/** No attack comes from here. */
const ADDRESS = '127.0.0.100';
const BETWEEN_MS = 5;

export interface Observed {
  readonly p99Ms: Readonly<Record<'healthz' | 'check_vh' | '1 KiB blob', number>>;
  readonly readBytesPerSecond: number;
  /** Blobs that the archive took over, a second. */
  readonly ingestPerSecond: number;
  /** Answers that were not 200, and requests without an answer. */
  readonly refused: readonly string[];
  readonly questions: number;
}

const status = z.object({ content: z.object({ seen: z.number(), spooled: z.number(), stored: z.number() }) });

/** A client as there should be: it asks one question after the other, and reads blobs on a second connection. */
export class BehavedClient {
  readonly #questions: Client;
  readonly #reads: Client;
  readonly #large: readonly string[];
  readonly #small: readonly string[];

  constructor(url: string, large: readonly string[], small: readonly string[]) {
    this.#questions = new Client(url, { localAddress: ADDRESS });
    this.#reads = new Client(url, { localAddress: ADDRESS });
    this.#large = large;
    this.#small = small;
  }

  async content() {
    return status.parse(JSON.parse((await this.#get(this.#questions, '/v1/status')).body.toString())).content;
  }

  async observe(seconds: number): Promise<Observed> {
    const endMs = performance.now() + seconds * 1_000;
    const storedBefore = (await this.content()).stored;
    const begunMs = performance.now();
    const refused: string[] = [];
    const [times, readBytesPerSecond] = await Promise.all([this.#ask(endMs, refused), this.#read(endMs, refused)]);
    const { stored } = await this.content();
    return {
      p99Ms: { healthz: p99(times[0]), check_vh: p99(times[1]), '1 KiB blob': p99(times[2]) },
      readBytesPerSecond,
      ingestPerSecond: ((stored - storedBefore) * 1_000) / (performance.now() - begunMs),
      refused,
      questions: times.flat().length,
    };
  }

  async #ask(endMs: number, refused: string[]): Promise<[number[], number[], number[]]> {
    const times: [number[], number[], number[]] = [[], [], []];
    const timed = async (into: number[], path: string, body?: string) => {
      const begunMs = performance.now();
      await this.#try(this.#questions, path, refused, body);
      into.push(performance.now() - begunMs);
    };
    for (let round = 0; performance.now() < endMs; round += 1) {
      const hash = this.#small[round % this.#small.length] ?? '';
      await timed(times[0], '/healthz');
      await timed(times[1], '/check_vh', JSON.stringify([hash]));
      await timed(times[2], `/v1/blobs/${hash}`);
      await pause(BETWEEN_MS);
    }
    return times;
  }

  /** Bytes a second of the large blobs, and of nothing else. */
  async readFor(seconds: number): Promise<number> {
    const refused: string[] = [];
    const rate = await this.#read(performance.now() + seconds * 1_000, refused);
    if (refused[0] !== undefined) throw new Error(`A read was refused: ${refused[0]}`);
    return rate;
  }

  async #read(endMs: number, refused: string[]): Promise<number> {
    const begunMs = performance.now();
    let bytes = 0;
    for (let at = 0; performance.now() < endMs; at += 1) {
      bytes += await this.#try(this.#reads, `/v1/blobs/${this.#large[at % this.#large.length]}`, refused);
    }
    return (bytes * 1_000) / (performance.now() - begunMs);
  }

  /** Bytes of the answer; none where it is refused. */
  async #try(client: Client, path: string, refused: string[], body?: string): Promise<number> {
    try {
      const answer = await this.#get(client, path, body);
      if (answer.status === 200) return answer.body.length;
      refused.push(`${path}: ${answer.status}`);
    } catch (error) {
      refused.push(`${path}: ${error}`);
    }
    return 0;
  }

  async #get(client: Client, path: string, body?: string) {
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await client.request({ path, method, ...(body === undefined ? {} : { body }) });
    return { status: answer.statusCode, body: Buffer.from(await answer.body.arrayBuffer()) };
  }

  async close(): Promise<void> {
    await Promise.all([this.#questions.destroy(), this.#reads.destroy()]);
  }
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY;
}
