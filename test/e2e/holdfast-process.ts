import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MALLOC_ENVIRONMENT, NODE_FLAGS } from '../../src/node-flags.mjs';
import { bundledProgram } from '../bundled-programs.ts';
import { type AtEnd, atEndOfTest } from '../cleanup.ts';
import { eventually } from './eventually.ts';

const MAIN = bundledProgram('src/cli/main.ts');
/** Runs a command on a pseudo-terminal; a person who types into it is the test. */
const TERMINAL = fileURLToPath(new URL('./terminal.py', import.meta.url));
/** The program that npm runs. */
export const LAUNCHER = fileURLToPath(new URL('../../src/launch.mjs', import.meta.url));

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly atEnd?: AtEnd;
  /** Default: the command itself. */
  readonly program?: string;
  /** Handles that it may have, as `ulimit -n` says it. */
  readonly openFiles?: number;
  /** The command runs on a pseudo-terminal of its own, which takes what is typed. */
  readonly isOnTerminal?: boolean;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command under way, in a process of its own or in that of the test. It is gone at the end of the test. */
export interface RunningHoldfast {
  readonly ended: Promise<Ended>;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Everything that it has said so far. */
  readonly output: string;
  kill(signal: NodeJS.Signals): void;
  /** The first match in what it says; fails at once when it ends without having said it. */
  says(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
}

/** The command as the launcher starts it: a process of its own. */
export class HoldfastProcess implements RunningHoldfast {
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
      env: { ...MALLOC_ENVIRONMENT, ...Object.fromEntries(inherited), ...env },
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

  async says(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray> {
    return await saidBy(this, pattern, timeoutMs);
  }
}

/** Waits until a command has said something that matches. */
export async function saidBy(
  running: Pick<RunningHoldfast, 'output' | 'ended'>,
  pattern: RegExp,
  timeoutMs = 300_000,
): Promise<RegExpExecArray> {
  const said = () => {
    const match = pattern.exec(running.output);
    if (match !== null) return match;
    throw new Error(`It has not said ${pattern}:\n${running.output}`);
  };
  return await Promise.race([eventually(said, timeoutMs), running.ended.then(said)]);
}

/** Runs a command to its end. */
export function holdfast(words: readonly string[], surroundings: Surroundings = {}): Promise<Ended> {
  return new HoldfastProcess(words, surroundings).ended;
}
