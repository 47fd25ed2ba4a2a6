import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A bare connection, for what no proper client sends. */
export class RawClient {
  readonly socket: Socket;
  readonly #chunks: Buffer[] = [];
  #waiting: (() => void) | null = null;
  readonly #closed: Promise<void>;

  private constructor(socket: Socket) {
    this.socket = socket;
    // A reset is one of the ways in which a server may end it.
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      this.#chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      this.#waiting?.();
    });
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => resolve());
    });
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    onTestFinished(() => {
      socket.destroy();
    });
    return new RawClient(socket);
  }

  send(text: string | Uint8Array): void {
    this.socket.write(text);
  }

  get received(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.received.toString('latin1');
  }

  get isClosed(): boolean {
    return this.socket.closed;
  }

  /** Until so much of it is there. */
  async until(found: (text: string) => boolean): Promise<string> {
    while (!found(this.text)) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    return this.text;
  }

  /** Until the server has closed it; what had come by then. */
  async closed(): Promise<string> {
    await this.#closed;
    return this.text;
  }
}

export function get(path: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\nHost: archive\r\n${lines.join('')}\r\n`;
}

/** Splits an answer into its head and the rest. */
export function headAndBody(text: string): { head: string; body: string } {
  const end = text.indexOf('\r\n\r\n');
  return { head: text.slice(0, end), body: text.slice(end + 4) };
}
