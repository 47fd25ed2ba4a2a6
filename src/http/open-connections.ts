import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

interface Connection extends Duplex {
  /** Closes a socket when what was written has gone out. */
  destroySoon?(): void;
}

/**
 * The open connections, and the answers under way on each. Node's own idea of an idle connection is wrong both ways.
 * A connection that never said a word counts as busy. One whose answer is handed over but still under way to a slow reader
 * counts as idle, so that `server.close()` would cut it short.
 */
export class OpenConnections {
  /** The connections at the front have been idle longest. */
  readonly #answers = new Map<Connection, Set<ServerResponse>>();
  readonly #afterwards = new WeakMap<Connection, () => void>();
  readonly #most: number;
  #draining = false;
  #whenEmpty: (() => void) | null = null;

  /** `most`: who comes then takes the place of the one that is idle longest; where none is, it is turned away. */
  constructor(server: Server, most: number) {
    this.#most = most;
    // `server.close()` calls this.
    server.closeIdleConnections = () => undefined;
    server.on('connection', (socket) => this.#opened(socket));
    // Before the handler, which may answer at once.
    server.prependListener('request', (request, response) => this.#asked(request.socket, response));
  }

  isAnswering(socket: Connection): boolean {
    return (this.#answers.get(socket)?.size ?? 0) > 0;
  }

  /** Calls `then` when nothing is being answered on this connection any more: at once, where nothing is. */
  whenIdle(socket: Connection, then: () => void): void {
    if (this.isAnswering(socket)) this.#afterwards.set(socket, then);
    else then();
  }

  /** Reports whether a part of an answer under way has gone out, or is to go out before what would be written now. */
  hasBegun(socket: Connection): boolean {
    const answers = [...(this.#answers.get(socket) ?? [])];
    return answers.length > 1 || answers.some(({ headersSent }) => headersSent);
  }

  /**
   * Closes idle connections at once and the others as soon as they are answered; after `graceMs` it cuts what is left,
   * and says how many answers that were.
   */
  async drain(graceMs: number): Promise<number> {
    this.#draining = true;
    for (const [socket, answers] of this.#answers) {
      if (answers.size === 0) socket.destroy();
      for (const answer of answers) sayClose(answer);
    }
    if (this.#answers.size === 0) return 0;
    const empty = Promise.withResolvers<void>();
    this.#whenEmpty = empty.resolve;
    let cut = 0;
    const timer = setTimeout(() => {
      cut = this.#cut();
    }, graceMs);
    await empty.promise;
    clearTimeout(timer);
    return cut;
  }

  #opened(socket: Connection): void {
    if (this.#draining || !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    this.#answers.set(socket, new Set());
    socket.once('close', () => {
      this.#answers.delete(socket);
      if (this.#answers.size === 0) this.#whenEmpty?.();
    });
  }

  /** false: all that are open are being answered. */
  #makeRoom(): boolean {
    if (this.#answers.size < this.#most) return true;
    for (const [socket, answers] of this.#answers) {
      if (answers.size > 0) continue;
      this.#answers.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  #asked(socket: Connection, answer: ServerResponse): void {
    this.#answers.get(socket)?.add(answer);
    answer.once('close', () => {
      this.#answers.get(socket)?.delete(answer);
      this.#answered(socket);
    });
    if (this.#draining) sayClose(answer);
  }

  /** From now on it is idle, if nothing more is being answered on it. */
  #answered(socket: Connection): void {
    const answers = this.#answers.get(socket);
    if (answers?.size !== 0) return;
    this.#afterwards.get(socket)?.();
    this.#afterwards.delete(socket);
    this.#answers.delete(socket);
    this.#answers.set(socket, answers);
    if (this.#draining) socket.destroySoon?.();
  }

  #cut(): number {
    let count = 0;
    for (const [socket, answers] of this.#answers) {
      count += answers.size;
      socket.destroy();
    }
    return count;
  }
}

/** Node then writes `Connection: close`, and the client does not count on this connection any more. */
function sayClose(answer: ServerResponse): void {
  if (!answer.headersSent) answer.shouldKeepAlive = false;
}
