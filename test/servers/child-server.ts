import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export interface ChildServerOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves once the server answers; called with a promise that rejects when the process ends before. */
  readonly isReady: (output: OutputLines) => Promise<void>;
  /** Milliseconds that it may take to stop before it is killed. Default: 10,000. */
  readonly stopMs?: number;
}

/** A starved machine takes minutes to start a server. */
const READY_MS = 240_000;
const STOP_MS = 10_000;

/** A real server as a child process: started, and exactly it stopped. */
export class ChildServer {
  readonly #options: ChildServerOptions;
  #child: ChildProcess | null = null;

  private constructor(options: ChildServerOptions) {
    this.#options = options;
  }

  static async start(options: ChildServerOptions): Promise<ChildServer> {
    const server = new ChildServer(options);
    await server.resume();
    return server;
  }

  /** Starts it again where it was stopped or killed: same port, same folder. */
  async resume(): Promise<void> {
    const { command, args, env, isReady } = this.#options;
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    const output = new OutputLines(child);
    const deadline = AbortSignal.timeout(READY_MS);
    const expired = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () =>
        reject(new Error(`${command} was not ready in time:\n${output.tail()}`)),
      );
    });
    try {
      await Promise.race([isReady(output), output.ended, expired]);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** null: it is not running. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    const harder = globalThis.setTimeout(() => child.kill('SIGKILL'), this.#options.stopMs ?? STOP_MS);
    child.kill(signal);
    await closed;
    clearTimeout(harder);
  }
}

/** The lines that a server prints, to wait for a line of it and to show when it does not start. */
export class OutputLines {
  /** Rejects when the process ends; never resolves. */
  readonly ended: Promise<never>;
  readonly #waiting = new Set<{ text: string; found: () => void }>();
  #text = '';

  constructor(child: ChildProcess) {
    const take = (chunk: unknown) => {
      this.#text = `${this.#text}${String(chunk)}`.slice(-20_000);
      for (const wait of this.#waiting) if (this.#text.includes(wait.text)) wait.found();
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    this.ended = new Promise((_, reject) => {
      child.once('error', reject);
      child.once('close', (code) => reject(new Error(`The server ended with ${code}:\n${this.tail()}`)));
    });
    // The start alone waits for it; later the end is the test's own doing.
    this.ended.catch(() => {});
  }

  until(text: string): Promise<void> {
    if (this.#text.includes(text)) return Promise.resolve();
    return new Promise((resolve) => {
      const wait = {
        text,
        found: () => {
          this.#waiting.delete(wait);
          resolve();
        },
      };
      this.#waiting.add(wait);
    });
  }

  tail(): string {
    return this.#text.slice(-4_000);
  }
}

const CONNECT_PAUSE_MS = 20;

/** Resolves when a server takes connections at this port. The starter of the server bounds how long that may take. */
export async function untilConnects(port: number): Promise<void> {
  for (const begun = performance.now(); performance.now() - begun < READY_MS; ) {
    const socket = connect(port, '127.0.0.1');
    const isTaken = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isTaken) return;
    await setTimeout(CONNECT_PAUSE_MS);
  }
}

/**
 * Below the ports that systems give to connections and to servers that ask for any: none of those takes it meanwhile.
 * Above 10080, the highest port that `fetch` refuses to ask.
 */
const CHOSEN_PORTS = { from: 10_081, below: 32_000 } as const;

/**
 * A port that is free, for a server that must be told one. Its number is this process's own until the process ends: a
 * socket of UDP holds it, for a server that needs a second to start would find it taken by another test's.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(CHOSEN_PORTS.from, CHOSEN_PORTS.below);
    const holder = createSocket('udp4').unref();
    if (!(await isBound(holder, () => holder.bind({ port, address: '127.0.0.1', exclusive: true })))) continue;
    const server = createServer();
    if (await isBound(server, () => server.listen(port, '127.0.0.1'))) {
      server.close();
      await once(server, 'close');
      return port;
    }
    holder.close();
  }
}

async function isBound(socket: EventEmitter, bind: () => unknown): Promise<boolean> {
  const bound = once(socket, 'listening');
  bind();
  try {
    await bound;
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
}
