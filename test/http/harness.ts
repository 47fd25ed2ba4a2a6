import { onTestFinished } from 'vitest';
import type { ArchiveView } from '../../src/archive/archive-view.ts';
import { createHttpApp } from '../../src/http/app.ts';
import type { HttpLimits, HttpOptions } from '../../src/http/config.ts';
import { createHttpServer, type HttpServer, type Listening } from '../../src/http/index.ts';

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
    nowMs: () => 1_767_225_600_000,
    onServerError: (error, requestId) => reported.push({ error, requestId }),
    reported,
  };
}

/** The routes without a socket. */
export function injectable(view: ArchiveView) {
  const options = testOptions();
  const { fastify } = createHttpApp(view, options);
  return { inject: fastify.inject.bind(fastify), reported: options.reported };
}

export interface Running extends Listening {
  readonly server: HttpServer;
  readonly reported: ReportedError[];
}

/** A listening server, closed when the test is over. */
export async function running(view: ArchiveView, limits: Partial<HttpLimits> = {}): Promise<Running> {
  const options = testOptions({ drainMs: 50, ...limits });
  const server = await createHttpServer(view, options);
  onTestFinished(async () => {
    await server.close();
  });
  return { ...(await server.listen()), server, reported: options.reported };
}
