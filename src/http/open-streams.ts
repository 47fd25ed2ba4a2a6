import type { ServerResponse } from 'node:http';

/** The answers of one server that go on until their client, or the server, ends them. */
export class OpenStreams {
  readonly #open = new Set<ServerResponse>();
  #isClosed = false;

  /** Reports that the server stops: no stream begins any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', () => this.#open.delete(response));
  }

  close(): void {
    this.#isClosed = true;
    for (const response of this.#open) response.end();
  }
}
