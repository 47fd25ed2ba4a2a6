import { ConfigError, type SettingValues } from '../config/index.ts';
import { ConditionBoard } from '../core/conditions/condition-board.ts';
import { declareBuild } from '../core/observability/build-metrics.ts';
import type { Logger } from '../core/observability/logger.ts';
import { MetricsRegistry } from '../core/observability/metrics.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import { createNodeHasher } from '../hashing/index.ts';
import {
  createHttpServer,
  declareHttpMetrics,
  metricsRoutes,
  pageRoutes,
  provenRoutes,
  publicWords,
  type ReaderView,
  readAccess,
  rereadTokens,
  statusRoutes,
  windowRoutes,
  withoutCatalogRoutes,
} from '../http/index.ts';
import { BlobCache } from '../reading/blob-cache.ts';
import { ProvenReader } from '../reading/proven-reader.ts';
import { ArchiverUpstream } from '../reading/stateless/archiver-upstream.ts';
import { BackendBytes } from '../reading/stateless/backend-bytes.ts';
import { StatelessReader } from '../reading/stateless/stateless-reader.ts';
import { StatelessWatch } from '../reading/stateless/stateless-watch.ts';
import { WithheldNames } from '../reading/stateless/withheld-names.ts';
import { BackendHandle } from '../replication/backend-handle.ts';
import { StorageError } from '../storage/errors.ts';
import { declareBackendMetrics } from '../storage/metrics.ts';
import { LiveSettings } from './live-settings.ts';
import { declareStandingMetrics } from './metrics.ts';
import { backendPlaces, openBackends } from './open-backends.ts';
import { openHashThread } from './open-hash-thread.ts';
import { openPage } from './open-page.ts';

export interface ReaderOptions {
  readonly settings: SettingValues;
  readonly version: string;
  readonly log: Logger;
}

export interface RunningReader {
  readonly url: string;
  /** Lets open answers finish; the second call waits for the first. */
  stop(): Promise<void>;
  /** Secrets and tokens, out of settings and files as they are now; gives what is another. @throws HoldfastError: all stays. */
  reload(settings: SettingValues): Promise<readonly string[]>;
}

/** Puts the stateless reader together: backends and a listener, no catalog, no data folder, nothing that writes. */
export async function startReader({ settings, version, log }: ReaderOptions): Promise<RunningReader> {
  const closing: (() => Promise<void> | void)[] = [];
  const closeAll = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const metrics = new MetricsRegistry();
    declareBuild(metrics, { version, command: 'serve' });
    const live = await LiveSettings.read(settings);
    const backends = await openBackends(live, settings, declareBackendMetrics(metrics));
    const access = await readAccess(settings);
    for (const { store } of backends) closing.push(() => store.close());
    if (backends.length === 0) throw noBackend();
    const verifier = openHashThread(await createNodeHasher(), log);
    closing.push(() => verifier.stop());
    const sites = backends.map((backend) => new BackendHandle(backend, verifier, SYSTEM_CLOCK));
    const named = sites.map(({ store }) => store).filter(({ properties }) => properties.holds.has('evidence'));
    if (named.length === 0 && settings.withheldFile === null) throw noWithheldList();
    const withheld = new WithheldNames({ stores: named, file: settings.withheldFile });
    const { archiverUrl, archiverToken } = settings;
    const archiver =
      archiverUrl === null ? null : new ArchiverUpstream({ url: archiverUrl, token: archiverToken }, verifier);
    if (archiver !== null) closing.push(() => archiver.close());

    const conditions = new ConditionBoard(log.child({ room: 'reader' }), SYSTEM_CLOCK.wallMs);
    const watch = new StatelessWatch(sites, withheld, archiver, conditions);
    declareStandingMetrics(metrics, () => ({
      backends: sites.map(({ id, isLeftAlone }) => ({ id, isUp: !isLeftAlone })),
      conditions: conditions.all(),
    }));
    const stopping = new AbortController();
    const { settled, ended } = watch.start(stopping.signal);
    closing.push(async () => {
      stopping.abort();
      await ended;
    });
    await settled;
    refuseOtherChain(conditions);
    const bytes = new BackendBytes(sites, archiver, SYSTEM_CLOCK);
    const reader = new ProvenReader(withheld, new BlobCache(settings.httpCacheBytes, SYSTEM_CLOCK), bytes);
    const stateless = new StatelessReader(withheld, reader, sites, archiver);
    const view: ReaderView = {
      reader,
      proofs: stateless.proofs.bind(stateless),
      record: stateless.record.bind(stateless),
      status: () => ({
        version,
        role: 'reader',
        archiver: archiver === null ? null : { reachable: !archiver.isAway },
        backends: sites.map(({ id, isLeftAlone }) => ({
          id,
          state: isLeftAlone ? 'left-alone' : 'good',
        })),
        conditions: conditions.all(),
      }),
      conditions: () => conditions.all(),
    };
    const words = publicWords([
      ...backendPlaces(settings),
      ...(archiverUrl === null ? [] : [{ name: 'the archiver', addresses: [archiverUrl] }]),
    ]);
    const httpMetrics = declareHttpMetrics(metrics);
    // In the order of their description.
    const routes = [
      ...provenRoutes(view),
      ...statusRoutes(view, SYSTEM_CLOCK),
      ...metricsRoutes(httpMetrics, words),
      ...windowRoutes(null),
      ...pageRoutes(openPage(log.child({ room: 'page' }))),
      ...withoutCatalogRoutes(view, SYSTEM_CLOCK),
    ];
    const http = await createHttpServer(routes, {
      host: settings.httpHost,
      port: settings.httpPort,
      clock: SYSTEM_CLOCK,
      words,
      ...access,
      metrics: httpMetrics,
      onServerError: (error, requestId) => log.error({ error, requestId }, 'a request failed unexpectedly'),
    });
    closing.push(async () => {
      await http.close();
    });
    const { url } = await http.listen();
    log.info({ url, backends: sites.map(({ id }) => id), archiver: archiver !== null }, 'listening');
    let stopped: Promise<void> | null = null;
    return {
      url,
      reload: async (now) => {
        const [tokens, keys] = await Promise.all([rereadTokens(access), live.prepare(now)]);
        return [...tokens(), ...keys()];
      },
      stop: () => {
        stopped ??= closeAll();
        return stopped;
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Known at the start already: no balancer should ever see it. */
function refuseOtherChain(conditions: ConditionBoard): void {
  const other = conditions.all().find(({ code }) => code === 'storage/other-chain');
  if (other === undefined) return;
  throw new StorageError('storage/other-chain', other.message, { retryable: false, hint: other.hint });
}

function noBackend(): ConfigError {
  return new ConfigError('config/invalid', 'No backend is configured, and a reader has no store of its own.', {
    retryable: false,
    hint: 'Set HOLDFAST_S3_BUCKET or HOLDFAST_IPFS_API_URL, or name backends in the configuration file.',
  });
}

function noWithheldList(): ConfigError {
  return new ConfigError('config/invalid', 'A reader on IPFS alone cannot know what operators withhold.', {
    retryable: false,
    hint: 'Name a file of version hashes, one a line, with HOLDFAST_WITHHELD_FILE; it may be empty.',
  });
}
