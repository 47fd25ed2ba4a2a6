import { onTestFinished } from 'vitest';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { AdminView } from '../../src/http/admin/admin-view.ts';
import { createHttpApp } from '../../src/http/app.ts';
import type { HttpLimits, HttpOptions } from '../../src/http/config.ts';
import type { EventLimits } from '../../src/http/event-listeners.ts';
import {
  adminRoutes,
  attestationRoutes,
  blobRoutes,
  chainRoutes,
  compatibilityRoutes,
  createHttpServer,
  customRoute,
  facadeRoutes,
  type HttpServer,
  inventoryRoutes,
  type Listening,
  liveWindow,
  metricsRoutes,
  type PageSource,
  pageRoutes,
  provenRoutes,
  type ReaderView,
  type Route,
  receiptRoutes,
  statusRoutes,
  windowRoutes,
  withoutCatalogRoutes,
} from '../../src/http/index.ts';
import { ALL_WORDS } from '../../src/http/public-words.ts';
import type { FacadeDialect } from '../../src/http/rpc/blob-calls.ts';
import type { NodePassThrough } from '../../src/http/rpc/pass-through.ts';
import type { ArchiveView } from '../../src/view/archive-view.ts';
import type { AttestationView } from '../../src/view/attestation-view.ts';
import type { ChainView } from '../../src/view/chain-view.ts';
import type { InventoryView } from '../../src/view/inventory-view.ts';
import type { ReceiptView } from '../../src/view/receipt-view.ts';
import type { WindowView } from '../../src/view/window-view.ts';
import { FakeChainView } from './fake-chain-view.ts';

export interface ReportedError {
  readonly error: unknown;
  readonly requestId: string | null;
}

export type TestLimits = Partial<HttpLimits & EventLimits>;

/** The settings of a listener, and the features whose routes a test wants; the others have no routes. */
export interface TestOptions extends HttpOptions {
  readonly limits?: TestLimits;
  readonly window?: WindowView;
  readonly learnsSenders?: boolean;
  readonly page?: PageSource;
  readonly inventory?: InventoryView;
  readonly attestations?: AttestationView;
  readonly receipts?: ReceiptView;
  readonly facadeDialect?: FacadeDialect;
  readonly passThrough?: NodePassThrough;
  readonly admin?: AdminView;
}

/** A client of a test sends and reads in the process of its server: both are late where the machine halts. */
const PATIENT: TestLimits = { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000, stalledTimeoutMs: 300_000 };

/** A clock that stands: a client gets nothing of its limits back, however long the machine takes. */
export const STOPPED_CLOCK = { ...SYSTEM_CLOCK, steadyMs: () => 0 };

/** Options for a test, and what the server reported. */
export function testOptions(limits: TestLimits = {}): TestOptions & { readonly reported: ReportedError[] } {
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

/** The routes of an archive, in the order of the daemon. */
export function archiveRoutes(view: ArchiveView, chain: ChainView, options: TestOptions): Route[] {
  const { clock, words = ALL_WORDS, metrics, window, page, inventory, attestations, receipts, admin } = options;
  const {
    facadeDialect = 'syscoin-5',
    passThrough = null,
    learnsSenders = false,
    limits = {},
    onServerError,
  } = options;
  const live = { words, learnsSenders, limits, clock, onServerError };
  return [
    ...blobRoutes(view),
    ...chainRoutes(view, chain),
    ...statusRoutes(view, clock),
    ...(metrics === undefined ? [] : metricsRoutes(metrics, words)),
    ...windowRoutes(window === undefined ? null : liveWindow(view, window, live)),
    ...(page === undefined ? [] : pageRoutes(page)),
    customRoute(view.reader),
    ...(inventory === undefined ? [] : inventoryRoutes(inventory)),
    ...(attestations === undefined ? [] : attestationRoutes(attestations)),
    ...(receipts === undefined ? [] : receiptRoutes(receipts)),
    ...compatibilityRoutes(view.reader, chain),
    ...facadeRoutes(view, chain, facadeDialect, clock, passThrough, words),
    ...(admin === undefined ? [] : adminRoutes(admin)),
  ];
}

/** The routes of a reader without a catalog, in the order of `holdfast serve`. */
export function readerRoutes(view: ReaderView, { clock, words, metrics, page }: TestOptions): Route[] {
  return [
    ...provenRoutes(view),
    ...statusRoutes(view, clock),
    ...(metrics === undefined ? [] : metricsRoutes(metrics, words)),
    ...windowRoutes(null),
    ...(page === undefined ? [] : pageRoutes(page)),
    ...withoutCatalogRoutes(view, clock),
  ];
}

/** The routes without a socket. */
export function injectable(
  view: ArchiveView,
  chain: ChainView = new FakeChainView(),
  given: Partial<TestOptions> = {},
) {
  const options = { ...testOptions(), ...given };
  const { fastify } = createHttpApp(archiveRoutes(view, chain, options), options);
  return { inject: fastify.inject.bind(fastify), reported: options.reported };
}

export interface Running extends Listening {
  readonly server: HttpServer;
  readonly reported: ReportedError[];
}

/** A listening server, closed when the test is over. */
export async function running(
  view: ArchiveView,
  limits: TestLimits = {},
  chain: ChainView = new FakeChainView(),
  given: Partial<TestOptions> = {},
): Promise<Running> {
  const options = { ...testOptions({ drainMs: 50, ...PATIENT, ...limits }), ...given };
  const server = await createHttpServer(archiveRoutes(view, chain, options), options);
  onTestFinished(async () => {
    await server.close();
  });
  return { ...(await server.listen()), server, reported: options.reported };
}
