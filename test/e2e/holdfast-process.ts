import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { type AtEnd, atEndOfTest } from '../cleanup.ts';
import { eventually } from './eventually.ts';

// A process takes a second to start where several run beside it.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 30_000 });

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** Runs a command on a pseudo-terminal; a person who types into it is the test. */
const TERMINAL = fileURLToPath(new URL('./terminal.py', import.meta.url));
/** What npm runs. */
export const LAUNCHER = fileURLToPath(new URL('../../src/launch.mjs', import.meta.url));

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly atEnd?: AtEnd;
  /** Default: the command itself. */
  readonly program?: string;
  /** Handles that it may have, as `ulimit -n` says it. */
  readonly openFiles?: number;
  /** It runs on a pseudo-terminal of its own, which takes what is typed. */
  readonly isOnTerminal?: boolean;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command as the launcher starts it: a process of its own. It is gone at the end. */
export class HoldfastProcess {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];

  constructor(words: readonly string[], surroundings: Surroundings = {}) {
    const { env = {}, cwd, atEnd = atEndOfTest, program = MAIN, openFiles, isOnTerminal = false } = surroundings;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'));
    const command = [process.execPath, ...NODE_FLAGS, program, ...words];
    const limited = openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`];
    const terminal = isOnTerminal ? ['python3', TERMINAL] : [];
    const [first = '', ...rest] = [...terminal, ...limited, ...command];
    this.#child = spawn(first, rest, {
      env: { ...Object.fromEntries(inherited), ...env },
      cwd,
      stdio: [isOnTerminal ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    this.#child.stdin?.on('error', () => {});
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#stdout.push(chunk));
    this.#child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        resolve({ code, signal, stdout: this.stdout.toString('utf8'), stderr: this.stderr.toString('utf8') });
      });
    });
    atEnd(async () => {
      // The terminal takes what runs on it along.
      this.kill(isOnTerminal ? 'SIGTERM' : 'SIGKILL');
      await this.ended;
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get stdout(): Buffer {
    return Buffer.concat(this.#stdout);
  }

  get stderr(): Buffer {
    return Buffer.concat(this.#stderr);
  }

  /** Everything that it has said so far. */
  get output(): string {
    return `${this.stdout.toString('utf8')}${this.stderr.toString('utf8')}`;
  }

  /** Types into its terminal: `\x03` is Ctrl-C. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The first match in what it says; fails at once when it ends without having said it. */
  async says(pattern: RegExp, timeoutMs = 20_000): Promise<RegExpExecArray> {
    const said = () => {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      throw new Error(`It has not said ${pattern}:\n${this.output}`);
    };
    return await Promise.race([eventually(said, timeoutMs), this.ended.then(said)]);
  }
}

/** Runs a command to its end. */
export function holdfast(words: readonly string[], surroundings: Surroundings = {}): Promise<Ended> {
  return new HoldfastProcess(words, surroundings).ended;
}
