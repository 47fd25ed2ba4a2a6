import { onTestFinished } from 'vitest';
import { Archive } from '../../src/app/archive.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { Backend } from '../../src/replication/backend.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { hashWith } from '../../src/verify/hasher.ts';
import { nameElsewhere, RehashRule, verifyBlob } from '../../src/verify/verified-blob.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { HASHER } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { FakeBlobNode, TIP_HEIGHT } from './fake-blob-node.ts';

export interface ArchiveScene {
  readonly archive: Archive;
  readonly node: FakeBlobNode;
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly conditions: ConditionBoard;
  /** Lines of the log. */
  readonly log: string[];
  /** Gives the folder back, as when the process ends. */
  release(): Promise<void>;
  /** Lets it work until the test is over, or until `stop`. */
  start(): { stop(): Promise<void> };
}

export interface SceneSetup {
  readonly node?: FakeBlobNode;
  readonly otherNodes?: readonly FakeBlobNode[];
  readonly dataDir?: string;
  readonly requests?: number;
  readonly pageEntries?: number;
  readonly maxEntries?: number;
  /** Milliseconds between two readings of the list without a new block. */
  readonly sweepMs?: number;
  readonly nowMs?: () => number;
  /**
   * First height of the walk. Default: above every height of the fake node, for tests of the list and of the content
   * that it names.
   */
  readonly startHeight?: number;
  /** Default: everything is archived. */
  readonly rule?: ArchiveRule;
  /** Keeps everything, and the folder is its cache. Default: the folder keeps everything. */
  readonly backend?: Backend | null;
}

/** The archive on a real folder, with a node in memory. */
export async function archiveScene(setup: SceneSetup = {}): Promise<ArchiveScene> {
  const node = setup.node ?? new FakeBlobNode();
  const nowMs = setup.nowMs ?? Date.now;
  const folder = await DataFolder.claim(setup.dataDir ?? temporaryFolder());
  const store = await LocalStore.open(folder.path);
  const { rule = ArchiveRule.EVERYTHING, backend = null } = setup;
  const catalog = openCatalog({
    ...{ folder: folder.path, clock: { ...SYSTEM_CLOCK, wallMs: nowMs }, rule },
    ...(backend === null ? {} : { backends: [backend.id], localIsCache: true }),
  });
  const log: string[] = [];
  const logger = createLogger('info', { write: (line) => void log.push(line) });
  const conditions = new ConditionBoard(logger, nowMs);
  const archive = new Archive(
    {
      version: 'test',
      emulated: false,
      pollMs: 10,
      sweepMs: setup.sweepMs ?? 50,
      pageEntries: setup.pageEntries ?? 1_000,
      ...(setup.maxEntries === undefined ? {} : { maxEntries: setup.maxEntries }),
      requests: setup.requests ?? 2,
      chain: {
        startHeight: setup.startHeight ?? TIP_HEIGHT + 1,
        finality: { kind: 'depth', blocks: 1 },
        archiverId: 'ab'.repeat(8),
        silentBlocks: 0,
      },
      replication: {
        requests: 2,
        bytesPerSecond: null,
        local: {
          mode: backend === null ? 'keep' : 'cache',
          budgetBytes: null,
          disk: () => folder.room(),
          freeBytes: () => folder.freeBytes(),
        },
      },
      scrub: { days: 30 },
    },
    {
      node,
      otherNodes: setup.otherNodes ?? [],
      backends: backend === null ? [] : [backend],
      catalog,
      store,
      binding: folder,
      signer: await ArchiverKey.open(folder.path),
      hasher: HASHER,
      verifier: {
        verify: async (candidate) => verifyBlob(candidate, HASHER),
        name: (hashType, bytes) =>
          nameElsewhere(hashType, bytes, async (type, given) => ({
            digest: hashWith(HASHER, type, given),
            bytes: given,
          })),
      },
      rehash: new RehashRule(HASHER, { entries: 100, periodMs: 60_000, steadyMs: () => performance.now() }),
      conditions,
      log: logger,
      clock: { wallMs: nowMs, steadyMs: () => performance.now() },
    },
  );
  let released = false;
  const release = async () => {
    if (released) return;
    released = true;
    await store.close();
    catalog.close();
    await folder.release();
  };
  onTestFinished(release);
  return { archive, node, store, catalog, conditions, log, release, start: () => start(archive) };
}

function start(archive: Archive): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = archive.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  onTestFinished(stop);
  return { stop };
}
