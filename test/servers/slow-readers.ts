import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { atEndOfTest } from '../cleanup.ts';
import { testWhere } from '../promised.ts';

const PROGRAM = fileURLToPath(new URL('./slow-readers.py', import.meta.url));
const STATUSES = z.array(z.number().nullable());
const RESTS = z.array(z.object({ lengthBytes: z.number(), tail: z.string() }));

const HAS_PYTHON = process.platform === 'linux' && spawnSync('python3', ['--version']).status === 0;
/** Tests of readers for which the system keeps little: no socket of Node can say so of itself. */
export const testWithSlowReaders = testWhere(HAS_PYTHON, 'this is not Linux with Python');

/** Readers from 127.0.0.1 that have asked, each on a connection of its own, and read no more than the status. */
export class SlowReaders {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child;
    this.#lines = lines;
  }

  /** Sends the requests, and does not wait for the answers. */
  static async ask(url: string, requests: readonly string[]): Promise<SlowReaders> {
    const { hostname, port } = new URL(url);
    const child = spawn('python3', [PROGRAM, hostname, port], { stdio: ['pipe', 'pipe', 'inherit'] });
    const readers = new SlowReaders(child, createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    atEndOfTest(() => readers.leave());
    child.stdin.on('error', () => undefined);
    child.stdin.write(`${JSON.stringify(requests)}\n`);
    await readers.#next();
    return readers;
  }

  /** Once every answer has begun; null: the connection ended without one. */
  async statuses(): Promise<(number | null)[]> {
    return STATUSES.parse(await this.#next());
  }

  /** Reads on, after the statuses, until every connection ends. `tail`: the last thousand bytes as hex. */
  async rest(): Promise<z.infer<typeof RESTS>> {
    this.#child.stdin?.write('\n');
    return RESTS.parse(await this.#next());
  }

  /** Closes all connections. */
  async leave(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #next(): Promise<unknown> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('The slow readers ended.');
    return JSON.parse(line.value);
  }
}
