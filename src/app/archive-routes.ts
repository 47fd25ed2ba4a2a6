import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import {
  type AdminView,
  adminRoutes,
  attestationRoutes,
  blobRoutes,
  chainRoutes,
  compatibilityRoutes,
  customRoute,
  type FacadeDialect,
  facadeRoutes,
  type HttpMetrics,
  type HttpOptions,
  inventoryRoutes,
  liveWindow,
  metricsRoutes,
  type NodePassThrough,
  type PageSource,
  type PublicWords,
  pageRoutes,
  type Route,
  receiptRoutes,
  statusRoutes,
  windowRoutes,
} from '../http/index.ts';
import type { Archive } from './archive.ts';

/** The rest of what routes answer from, besides the archive. */
export interface BesideArchive {
  readonly words: PublicWords;
  readonly learnsSenders: boolean;
  readonly facadeDialect: FacadeDialect;
  /** null: the façade hands no call on to the node. */
  readonly passThrough: NodePassThrough | null;
  readonly page: PageSource;
  readonly admin: AdminView;
  readonly metrics: HttpMetrics;
  readonly onServerError: HttpOptions['onServerError'];
}

/** Every route of the daemon, each made where its view is, in the order of their description. */
export function archiveRoutes(archive: Archive, beside: BesideArchive): Route[] {
  const { words, facadeDialect, passThrough, page, admin, metrics } = beside;
  const { reader, chainView: chain } = archive;
  const window = liveWindow(archive, archive.windowView, { ...beside, clock: SYSTEM_CLOCK });
  return [
    ...blobRoutes(archive),
    ...chainRoutes(archive, chain),
    ...statusRoutes(archive, SYSTEM_CLOCK),
    ...metricsRoutes(metrics, words),
    ...windowRoutes(window),
    ...pageRoutes(page),
    customRoute(reader),
    ...inventoryRoutes(archive.inventory),
    ...attestationRoutes(archive.attestor),
    ...receiptRoutes(archive.receipts),
    ...compatibilityRoutes(reader, chain),
    ...facadeRoutes(archive, chain, facadeDialect, SYSTEM_CLOCK, passThrough, words),
    ...adminRoutes(admin),
  ];
}
