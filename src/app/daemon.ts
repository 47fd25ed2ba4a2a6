import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { backfillJob } from '../backfill/backfill-job.ts';
import { parseBucket } from '../backfill/source/source-syntax.ts';
import { exportJob } from '../bundle/export-job.ts';
import { importJob } from '../bundle/import-job.ts';
import { Catalog } from '../catalog/catalog.ts';
import { parseFinality } from '../chain/finality.ts';
import type { SettingValues } from '../config/index.ts';
import { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { JobKind } from '../core/jobs/job-kind.ts';
import { JobTable } from '../core/jobs/job-table.ts';
import { declareBuild } from '../core/observability/build-metrics.ts';
import type { LevelSwitch, Logger } from '../core/observability/logger.ts';
import { MetricsRegistry } from '../core/observability/metrics.ts';
import { readRarely } from '../core/observability/read-rarely.ts';
import { declareScheduleMetrics } from '../core/schedule/metrics.ts';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import { attestJob } from '../federation/attest-job.ts';
import { createNodeHasher } from '../hashing/index.ts';
import {
  createHttpServer,
  createLocalServer,
  declareHttpMetrics,
  type HttpOptions,
  type NamedPlace,
  publicWords,
  readAccess,
  rereadTokens,
} from '../http/index.ts';
import { otherChain } from '../ingest/poller.ts';
import { createBlobNode } from '../node/index.ts';
import { declareNodeMetrics, watchedNode } from '../node/metrics.ts';
import { takeDownJobs } from '../reading/withhold/take-down-jobs.ts';
import type { Backend } from '../replication/backend.ts';
import type { Upkeep } from '../replication/upkeep.ts';
import { upkeepJobs } from '../replication/upkeep-jobs.ts';
import { archiverIdIn } from '../storage/local/archiver-id.ts';
import { ArchiverKey } from '../storage/local/archiver-key.ts';
import { DataFolder } from '../storage/local/data-folder.ts';
import { LocalStore } from '../storage/local/local-store.ts';
import { declareBackendMetrics, declareVolumeMetrics } from '../storage/metrics.ts';
import { RehashRule } from '../verify/verified-blob.ts';
import { logActivity } from './activity-log.ts';
import { Archive } from './archive.ts';
import { archiveRoutes } from './archive-routes.ts';
import { tellsBatches } from './batch-refusal.ts';
import { LiveSettings } from './live-settings.ts';
import { declareArchiveMetrics } from './metrics.ts';
import { openAlerts } from './open-alerts.ts';
import {
  backendPlaces,
  checkReplicas,
  checkSchedules,
  openBackends,
  openPlainBucket,
  refuseOtherChains,
} from './open-backends.ts';
import { openHashThread } from './open-hash-thread.ts';
import { openPage } from './open-page.ts';
import { openPassThrough } from './open-pass-through.ts';
import { learnsSenders, openBackendRules, openRule } from './open-rule.ts';
import { openPeers, openSource } from './open-sources.ts';
import { openSubscriptions } from './open-subscriptions.ts';
import { REAL_TIME, type ScheduleTime, scheduledWork } from './scheduled-work.ts';

export interface DaemonOptions {
  readonly settings: SettingValues;
  readonly version: string;
  /** The node is the built-in emulation, which every output names. */
  readonly emulated: boolean;
  readonly log: Logger;
  /** Levels of that log, where they can change while it runs. */
  readonly levels?: LevelSwitch;
  /** Whether a damaged catalog is set aside and rebuilt: for the command that fills it again. */
  readonly remakesDamagedCatalog?: boolean;
  /** Claimed already; it is given back with everything else. */
  readonly folder?: DataFolder;
  /** Clock of the schedule, instead of this machine's. */
  readonly scheduleTime?: ScheduleTime;
}

export interface Daemon {
  readonly url: string;
  readonly archive: Archive;
  /** Secrets and tokens, out of settings and files as they are now; gives what is another. @throws HoldfastError: all stays. */
  reload(settings: SettingValues): Promise<readonly string[]>;
  /** Stops everything under way and gives the folder back; the second call waits for the first. */
  stop(): Promise<void>;
}

/** Files of which is remembered that they were hashed: two full windows' worth, a few MiB of memory. */
const REHASH_ENTRIES = 10_000;
/** Scrapes that come faster read the same figures. */
const FIGURES_MS = 1_000;
const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

interface Opened {
  readonly folder: DataFolder;
  readonly archive: Archive;
  readonly catalog: Catalog;
  readonly node: ReturnType<typeof createBlobNode>;
  /** Addresses of all nodes, without credentials, in their order. */
  readonly nodeNames: readonly string[];
  /** Public names and addresses of the peers, likewise. */
  readonly peerNames: readonly NamedPlace[];
  readonly backends: readonly Backend[];
  readonly live: LiveSettings;
  readonly conditions: ConditionBoard;
  readonly archiverId: string;
}

type Closing = (() => Promise<void> | void)[];

/** Opens what every way to work with an archive needs. What is opened goes on the list of what is to be closed. */
async function openArchive(options: DaemonOptions, metrics: MetricsRegistry, closing: Closing): Promise<Opened> {
  const { settings, log, version, emulated } = options;
  const folder = options.folder ?? (await DataFolder.claim(settings.dataDir));
  closing.push(() => folder.release());
  if (folder.openToOthers.length > 0) {
    log.warn(
      { open: folder.openToOthers },
      'other users of this machine can open parts of the data folder, and its owner is another: let the user that runs holdfast own it, with mode 0700',
    );
  }
  const store = await LocalStore.open(folder.path, SYSTEM_CLOCK);
  closing.push(() => store.close());
  const live = await LiveSettings.read(settings);
  const backends = await openBackends(live, settings, declareBackendMetrics(metrics));
  for (const backend of backends) closing.push(() => backend.store.close());
  const genesis = await folder.boundChain();
  await refuseOtherChains(backends, genesis);
  const mode = await folder.settleMode(settings.localMode, backends.length > 0);
  const counting = [...(mode === 'keep' ? [store.id] : []), ...backends.map(({ id }) => id)];
  const backendRules = await openBackendRules(settings);
  checkReplicas(settings.replicasRequired, counting, [...backendRules.keys()]);
  await checkSchedules(settings);
  const rule = await openRule(settings);
  if (rule.says !== null) log.info({ rule: rule.says }, 'a rule leaves blobs out');
  for (const [backend, { says }] of backendRules) log.info({ backend, rule: says }, 'a rule leaves blobs out there');
  const catalog = Catalog.open({
    path: join(folder.path, 'catalog.sqlite'),
    migrationsFolder: MIGRATIONS,
    backends: counting,
    places: new Map(backends.map(({ id, place }) => [id, place])),
    localIsCache: mode === 'cache',
    replicasRequired: settings.replicasRequired,
    rule,
    backendRules,
    remakesDamaged: options.remakesDamagedCatalog ?? false,
    clock: SYSTEM_CLOCK,
  });
  closing.push(() => catalog.close());

  const hasher = await createNodeHasher();
  log.info({ engine: hasher.engine }, 'hashes checked against the reference');
  for (const warning of hasher.warnings) log.warn(warning, 'a hash implementation was passed over');
  const verifier = openHashThread(hasher, log);
  closing.push(() => verifier.stop());
  const watch = declareNodeMetrics(metrics);
  const conditions = new ConditionBoard(log.child({ room: 'archive' }), SYSTEM_CLOCK.wallMs);
  const onBatches = tellsBatches(conditions);
  const opened = live.nodeOptions().map((options) => createBlobNode({ ...options, onBatches }, SYSTEM_CLOCK));
  const [node, ...otherNodes] = opened.map((one) => watchedNode(one, watch, SYSTEM_CLOCK));
  if (node === undefined) throw new TypeError('the composition root was called without a node address');
  for (const one of [node, ...otherNodes]) closing.push(() => one.close());
  const peers = await openPeers(settings, { verifier, conditions, clock: SYSTEM_CLOCK });
  for (const peer of peers) closing.push(() => peer.close());
  const archiverId = await archiverIdIn(folder.path);
  const periodMs = settings.scrubDays * 24 * 3_600_000;
  const archive = new Archive(
    {
      version,
      emulated,
      isNewFolder: genesis === null,
      pollMs: settings.nodePollMs,
      sweepMs: settings.nodeSweepMs,
      pageEntries: 5_000,
      requests: settings.nodeRequests,
      chain: {
        startHeight: settings.startHeight,
        finality: parseFinality(settings.finality),
        archiverId,
        silentBlocks: settings.alarmSilentBlocks,
        learnsSenders: learnsSenders(settings),
      },
      replication: {
        requests: settings.replicasRequests,
        bytesPerSecond: settings.replicasBytesPerSecond,
        local: {
          mode,
          budgetBytes: settings.localBytes,
          disk: () => folder.room(),
          freeBytes: () => folder.freeBytes(),
        },
      },
      withheldFile: settings.withheldFile,
      allowsCustom: settings.nodeDialect === 'svc',
      scrub: { days: settings.scrubDays },
      cacheBytes: settings.httpCacheBytes,
    },
    {
      node,
      otherNodes,
      catalog,
      store,
      backends,
      peers,
      binding: folder,
      signer: await ArchiverKey.open(folder.path),
      hasher,
      verifier,
      rehash: new RehashRule(hasher, { entries: REHASH_ENTRIES, periodMs, steadyMs: SYSTEM_CLOCK.steadyMs }),
      conditions,
      log: log.child({ room: 'archive' }),
      clock: SYSTEM_CLOCK,
    },
  );
  logActivity(archive.activity, log.child({ room: 'archive' }));
  const nodeNames = opened.map(({ name }) => name);
  const peerNames = peers.map((peer, index) => peer.publicPlace(`peer-${index + 1}`));
  return { folder, archive, node, nodeNames, peerNames, catalog, backends, live, conditions, archiverId };
}

function closer(closing: Closing): () => Promise<void> {
  return async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
}

/** The long operations that an archive knows, the same in a daemon and in a command alone. */
function jobKinds(archive: Archive, settings: SettingValues, alone: ((signal: AbortSignal) => Promise<void>) | null) {
  const backfill = backfillJob(archive, { openSource: (text) => openSource(settings, text), alone });
  const bundling = { openBucket: (text: string) => openPlainBucket(settings, parseBucket(text)), alone };
  const bundles = [exportJob(archive, bundling), importJob(archive, bundling)];
  return [...upkeepJobs(archive), ...takeDownJobs(archive), backfill, ...bundles, attestJob(archive)];
}

export interface OpenedUpkeep {
  readonly upkeep: Upkeep;
  readonly jobs: readonly JobKind[];
  close(): Promise<void>;
}

/** Milliseconds for which a command that works alone waits to learn the chain of a slow backend: no later condition ends the command. */
const ALONE_BINDING_CHECK_MS = 30_000;

/** A command that works alone does nothing where folder, node and backends are not of one chain, nor fetches what is withheld. */
async function prepareAlone({ folder, archive, node, backends }: Opened, signal: AbortSignal): Promise<void> {
  const bound = await folder.boundChain();
  // One that does not answer is told of, and waited for, by what runs.
  const genesis = await node.genesisHash(signal).catch(() => null);
  signal.throwIfAborted();
  if (genesis !== null && bound !== null && genesis !== bound) throw otherChain(node.name, genesis, bound);
  await refuseOtherChains(backends, genesis, AbortSignal.any([signal, AbortSignal.timeout(ALONE_BINDING_CHECK_MS)]));
  signal.throwIfAborted();
  await archive.withheldReading.first(signal);
}

/** Upkeep asks no node: its commands work without one. */
const NO_NODE = 'http://127.0.0.1:9';

/** Opens a stopped archive for maintenance commands; no other process may run on its folder. */
export async function openUpkeep(options: DaemonOptions): Promise<OpenedUpkeep> {
  const closing: Closing = [];
  const close = closer(closing);
  try {
    const settings = { ...options.settings, nodeUrl: options.settings.nodeUrl ?? NO_NODE };
    const opened = await openArchive({ ...options, settings }, new MetricsRegistry(), closing);
    const jobs = jobKinds(opened.archive, settings, (signal) => prepareAlone(opened, signal));
    return { upkeep: opened.archive.upkeep, jobs, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Puts the rooms together: the only place that knows them all. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { settings, log, emulated } = options;
  const closing: Closing = [];
  const closeAll = closer(closing);

  try {
    const metrics = new MetricsRegistry();
    const { folder, archive, node, nodeNames, peerNames, catalog, live, conditions, archiverId } = await openArchive(
      options,
      metrics,
      closing,
    );
    const time = options.scheduleTime ?? REAL_TIME;
    const hook = openAlerts(settings, { archive, catalog, conditions, archiverId, wait: time.wait });
    if (hook !== null) closing.push(() => hook.close());
    const subscriptions = openSubscriptions(settings, { archive, catalog, conditions, archiverId });
    closing.push(() => subscriptions.close());
    const work = scheduledWork(settings, archive, catalog, log, hook?.alerts ?? null, time);
    declareBuild(metrics, { version: options.version, command: 'run' });
    declareVolumeMetrics(metrics, folder.path);
    declareArchiveMetrics(
      metrics,
      readRarely(() => archive.figures.read(), FIGURES_MS, SYSTEM_CLOCK.steadyMs),
    );
    declareScheduleMetrics(metrics, () => work.schedule.states);
    const jobs = new JobTable(jobKinds(archive, settings, null), {
      log: log.child({ room: 'jobs' }),
      nowMs: SYSTEM_CLOCK.wallMs,
    });
    const passThrough = openPassThrough(live, settings.httpFacadePassThrough);
    closing.push(() => passThrough?.close());
    const words = publicWords([
      ...nodeNames.map((address, index) => ({ name: `node-${index + 1}`, addresses: [address] })),
      ...peerNames,
      ...backendPlaces(settings),
      { name: 'the data folder', addresses: [folder.path] },
    ]);
    const httpMetrics = declareHttpMetrics(metrics);
    const onServerError: HttpOptions['onServerError'] = (error, requestId) =>
      log.error({ error, requestId }, 'a request failed unexpectedly');
    const access = await readAccess(settings);
    const routes = archiveRoutes(archive, {
      words,
      learnsSenders: learnsSenders(settings),
      facadeDialect: settings.httpFacadeDialect,
      passThrough,
      page: openPage(log.child({ room: 'page' })),
      admin: {
        jobs,
        takeDowns: archive.takeDowns,
        subscriptions: subscriptions.notices,
        drain: archive.drainWith(jobs),
        levels: options.levels ?? null,
      },
      metrics: httpMetrics,
      onServerError,
    });
    const door = { ...access, clock: SYSTEM_CLOCK, words, metrics: httpMetrics, onServerError };
    const { httpHost: host, httpPort: port } = settings;
    const http = await createHttpServer(routes, { ...door, host, port });
    closing.push(async () => {
      await http.close();
    });
    const local = await createLocalServer(routes, door);
    closing.push(async () => {
      await local.close();
    });
    const { url } = await http.listen();
    const adminSocket = await local.listen(folder.path).catch((error: unknown) => {
      log.warn({ error }, 'no local socket: other commands on this machine cannot reach this daemon');
      return null;
    });
    await folder.announce({ url, emulatedNode: emulated ? addressWithCredentials(settings) : null, adminSocket });
    log.info({ url, node: node.name, dataDir: folder.path, emulated }, 'listening');

    const stopping = new AbortController();
    const parts = [archive, work, subscriptions.notices];
    const running = Promise.all(parts.map((part) => part.run(stopping.signal)));
    closing.push(async () => {
      stopping.abort();
      await Promise.all([running, jobs.stop()]);
    });
    let stopped: Promise<void> | null = null;
    return {
      url,
      archive,
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

function addressWithCredentials({ nodeUrl, nodeUser, nodePassword }: SettingValues): string | null {
  return nodeUrl?.replace('//', `//${nodeUser}:${nodePassword}@`) ?? null;
}
