import { onTestFinished } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createHttpApp } from '../../src/http/app.ts';
import type { HttpLimits, HttpOptions } from '../../src/http/config.ts';
import { createHttpServer, type HttpServer, type Listening } from '../../src/http/index.ts';
import type { ArchiveView } from '../../src/view/archive-view.ts';
import type { ChainView } from '../../src/view/chain-view.ts';
import { FakeChainView } from './fake-chain-view.ts';

export interface ReportedError {
  readonly error: unknown;
  readonly requestId: string | null;
}

/** Options for a test, and what the server reported. */
export function testOptions(limits: Partial<HttpLimits> = {}): HttpOptions & { readonly reported: ReportedError[] } {
  const reported: ReportedError[] = [];
  return {
    host: '127.0.0.1',
    port: 0,
    limits,
    clock: { ...SYSTEM_CLOCK, wallMs: () => 1_767_225_600_000 },
    onServerError: (error, requestId) => reported.push({ error, requestId }),
    reported,
  };
}

/** The routes without a socket. */
export function injectable(
  view: ArchiveView,
  chain: ChainView = new FakeChainView(),
  given: Partial<HttpOptions> = {},
) {
  const options = { ...testOptions(), ...given };
  const { fastify } = createHttpApp(view, chain, options);
  return { inject: fastify.inject.bind(fastify), reported: options.reported };
}

export interface Running extends Listening {
  readonly server: HttpServer;
  readonly reported: ReportedError[];
}

/** A listening server, closed when the test is over. */
export async function running(
  view: ArchiveView,
  limits: Partial<HttpLimits> = {},
  chain: ChainView = new FakeChainView(),
  given: Partial<HttpOptions> = {},
): Promise<Running> {
  const options = { ...testOptions({ drainMs: 50, ...limits }), ...given };
  const server = await createHttpServer(view, chain, options);
  onTestFinished(async () => {
    await server.close();
  });
  return { ...(await server.listen()), server, reported: options.reported };
}
