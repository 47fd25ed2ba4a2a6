import type { UndiciHttpHandler } from '@smithy/undici-http-handler';
import type { Clock } from '../../core/time/clock.ts';
import { readBody } from './read-body.ts';
import { NotS3Answer } from './s3-error.ts';
import { ServerClock } from './server-clock.ts';

type Handle = UndiciHttpHandler['handle'];

/** Stands between the SDK and the network: reads the server's clock off its answers, and refuses a body that may be cut. */
export class WatchedHandler {
  readonly clock: ServerClock;
  readonly #handler: UndiciHttpHandler;

  constructor(handler: UndiciHttpHandler, clock: Clock) {
    this.#handler = handler;
    this.clock = new ServerClock(clock);
  }

  async handle(...[request, options]: Parameters<Handle>): ReturnType<Handle> {
    const answered = await this.#handler.handle(request, options);
    const { response } = answered;
    this.clock.note(response.headers);
    if (request.method === 'GET' && response.statusCode === 200 && !saysItsEnd(response.headers)) {
      await readBody(response.body, undefined, 0);
      throw new NotS3Answer('an answer that does not say how long it is');
    }
    return answered;
  }

  destroy(): void {
    this.#handler.destroy();
  }

  /** The SDK asks this of every handler; this one has no settings that change. */
  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): object {
    return {};
  }
}

/** A body that ends where the connection does looks whole when it is cut. */
function saysItsEnd(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
