import { Writable } from 'node:stream';
import { runCli } from '../../src/cli/run-cli.ts';
import { type AtEnd, atEndOfTest } from '../cleanup.ts';
import { type Ended, type RunningHoldfast, saidBy } from './holdfast-process.ts';

export interface SurroundingsHere {
  /** Settings alone: what else a process reads from its environment, this process has for itself. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly atEnd?: AtEnd;
}

/**
 * A command inside of the test's process: the same code as `HoldfastProcess`, without the second that a process takes to
 * start. For tests of what a command does. A test of a kill, of limits, of signals or of a terminal needs a process.
 */
export class HoldfastHere implements RunningHoldfast {
  readonly ended: Promise<Ended>;
  readonly #stopping = new AbortController();
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];

  constructor(words: readonly string[], { env = {}, cwd = process.cwd(), atEnd = atEndOfTest }: SurroundingsHere = {}) {
    const foreign = Object.keys(env).filter((name) => !name.startsWith('HOLDFAST_'));
    if (foreign.length > 0) throw new Error(`A command reads ${foreign.join(', ')} as a process only.`);
    this.ended = runCli(words, {
      stdout: collect(this.#stdout),
      stderr: collect(this.#stderr),
      env,
      cwd,
      signal: this.#stopping.signal,
    }).then((code) => ({
      code,
      signal: null,
      stdout: this.stdout.toString('utf8'),
      stderr: this.stderr.toString('utf8'),
    }));
    atEnd(async () => {
      this.kill('SIGTERM');
      await this.ended;
    });
  }

  get stdout(): Buffer {
    return Buffer.concat(this.#stdout);
  }

  get stderr(): Buffer {
    return Buffer.concat(this.#stderr);
  }

  get output(): string {
    return `${this.stdout.toString('utf8')}${this.stderr.toString('utf8')}`;
  }

  kill(signal: NodeJS.Signals): void {
    if (signal !== 'SIGTERM' && signal !== 'SIGINT') throw new Error(`Only a process can be sent ${signal}.`);
    this.#stopping.abort(signal);
  }

  async says(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray> {
    return await saidBy(this, pattern, timeoutMs);
  }
}

/** Runs a command to its end, in this process. */
export function holdfastHere(words: readonly string[], surroundings: SurroundingsHere = {}): Promise<Ended> {
  return new HoldfastHere(words, surroundings).ended;
}

function collect(chunks: Buffer[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
}
