import { describe, expect, test } from 'vitest';
import { CatalogMaintenance } from '../../src/app/catalog-maintenance.ts';
import { ClockWatch } from '../../src/app/clock-watch.ts';
import { Routine } from '../../src/app/routine.ts';
import { TaskReports } from '../../src/app/task-reports.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ChainAudit } from '../../src/chain/chain-audit.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger, type Logger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { Canary } from '../../src/replication/canary.ts';
import { DailyScrub } from '../../src/replication/daily-scrub.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import type { Holding } from '../../src/replication/holding.ts';
import { StorageError } from '../../src/storage/errors.ts';
import { Activity } from '../../src/view/activity.ts';
import { HandClock, openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';
import { MemoryBackend } from '../replication/memory-backend.ts';
import { replicationScene } from '../replication/replication-scene.ts';
import { NEVER } from '../sample-blobs.ts';

const silent = createLogger('silent', { write: () => {} });

/** Contents that the one backend is proven to hold. */
function catalogWith(labels: readonly string[]): Catalog {
  const catalog = openCatalog();
  catalog.recordSpooled(labels.map((label) => spooled(label)));
  catalog.recordProven('local', catalog.page('oldest', null, labels.length));
  return catalog;
}

/** Maintenance over a scene of replication, without a chain. */
function routineOf(scene: Awaited<ReturnType<typeof replicationScene>>, log: Logger): Routine {
  const { catalog, replication, conditions, activity, damage, time: clock } = scene;
  return new Routine({
    scrub: new DailyScrub({ days: 1 }, { ...scene, blobs: scene, log }),
    canary: new Canary(
      catalog,
      damage,
      conditions,
      () => replication.holdings(({ isAdmitted }) => isAdmitted),
      () => 0,
      clock,
    ),
    audit: new ChainAudit(catalog, { state: { tip: null } }, { finalHeight: null }, conditions, clock),
    clock: new ClockWatch(catalog, [], conditions, activity, clock),
    maintenance: new CatalogMaintenance(catalog, log),
    replication,
  });
}

test('the disk is looked at though the canary fails', async () => {
  const disk = { freeBytes: 10, totalBytes: 1_000 };
  const scene = await replicationScene({ backends: [], mode: 'keep', disk: async () => disk });
  const routine = routineOf(scene, silent);
  routine.canary.run = () => Promise.reject(new Error('the catalog cannot be read'));
  await expect(routine.lookAtBackends(NEVER)).rejects.toThrow('the catalog cannot be read');
  expect(scene.conditions.all().map(({ code }) => code)).toContain('disk/nearly-full');
});

test('all failed looks of an hour are told, and not the first in order alone', async () => {
  const scene = await replicationScene({ backends: [], mode: 'keep' });
  const { conditions } = scene;
  const routine = routineOf(scene, silent);
  const reports = new TaskReports(conditions);
  const run = async () => {
    const error = await routine.lookAtBackends(NEVER).then(
      () => null,
      (reason: unknown) => reason,
    );
    reports.taskEnded('canary', error);
    return conditions.all().filter(({ code }) => code !== 'disk/nearly-full');
  };
  const denied = (message: string) =>
    new StorageError('storage/denied', message, { retryable: true, hint: 'Look at the rights.' });
  routine.canary.run = () => Promise.reject(denied('The bucket refuses.'));
  routine.audit.lookAgain = () => Promise.reject(denied('The folder refuses.'));
  expect(await run()).toMatchObject([
    {
      code: 'storage/denied',
      message: 'The bucket refuses. The folder refuses.',
      hint: 'Look at the rights.',
      blocksReadiness: false,
    },
  ]);
  routine.audit.lookAgain = () => Promise.reject(new TypeError('a bug'));
  expect(await run()).toMatchObject([
    { code: 'archive/unexpected', message: 'Something unexpected went wrong: The bucket refuses. a bug' },
  ]);
  routine.canary.run = async () => {};
  routine.audit.lookAgain = async () => {};
  expect(await run()).toEqual([]);
});

test('maintenance bounds what would grow for ever, and says how much went', async () => {
  const scene = await replicationScene({ backends: [], mode: 'keep' });
  const { catalog } = scene;
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => void lines.push(line) });
  const routine = routineOf(scene, log);
  const dropped = sighting('dropped', { medianTimeSeconds: 1_767_000_000 });
  catalog.noteListed([dropped]);
  const failure = { code: 'archive/absent-at-node', message: 'It has not got it.', nextAttemptMs: null };
  catalog.recordFailures([{ versionHash: dropped.versionHash, ...failure }]);
  catalog.chain.recordStart(1);
  const time = 1_767_000_000 + 16 * 86_400;
  const hashes = { hash: parseBlockHash('11'.repeat(32)), previousHash: parseBlockHash('00'.repeat(32)) };
  const block = { height: 1, ...hashes, timeSeconds: time, medianTimeSeconds: time, occurrences: [], unclear: [] };
  catalog.chain.recordBlocks([block], () => false);
  routine.maintenance.run();
  expect(catalog.findQueued(dropped.versionHash)).toBeNull();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ rows: { dropped: 1, evictedUnmined: 0 } }]);
  routine.maintenance.run();
  expect(lines).toHaveLength(1);
});

test('the hourly look at the backends asks how much room there is, and fetches from each', async () => {
  const backend = new MemoryBackend('ipfs');
  const scene = await replicationScene({ backends: [backend] });
  await scene.replication.admit(NEVER);
  backend.room = async () => 7_000;
  const routine = routineOf(scene, silent);
  await routine.lookAtBackends(NEVER);
  expect(scene.replication.status()).toMatchObject([{ id: 'ipfs', freeBytes: 7_000 }]);
});

describe('the canary', () => {
  function canaryOn(catalog: Catalog, look: Holding['look']) {
    const conditions = new ConditionBoard(silent, Date.now);
    const damage = new DamageWatch(catalog, conditions, new Activity(), ['local']);
    const asked: string[] = [];
    const holding: Holding = {
      id: 'local',
      isAdmitted: true,
      records: null,
      get store(): never {
        throw new Error('Only single blobs are asked for.');
      },
      look: (name, signal) => {
        asked.push(name.versionHash);
        return look(name, signal);
      },
    };
    const canary = new Canary(
      catalog,
      damage,
      conditions,
      () => [holding],
      () => 0,
      SYSTEM_CLOCK,
    );
    return { canary, conditions, asked };
  }

  test('fetches an old and the newest blob through each backend', async () => {
    const catalog = catalogWith(['first', 'second', 'third']);
    const { canary, conditions, asked } = canaryOn(catalog, async () => 'good');
    await canary.run(NEVER);
    const [first, , third] = catalog.page('oldest', null, 3);
    expect(asked).toEqual([first?.versionHash, third?.versionHash]);
    expect([...canary.results.values()]).toMatchObject([
      { backend: 'local', age: 'old', isGood: true },
      { backend: 'local', age: 'new', isGood: true },
    ]);
    expect(conditions.all()).toEqual([]);
  });

  test('a wrong copy is reported and queued for repair; a good run clears the condition', async () => {
    const catalog = catalogWith(['only']);
    let kind: 'good' | 'damaged' = 'damaged';
    const { canary, conditions } = canaryOn(catalog, async () => kind);
    await canary.run(NEVER);
    expect(conditions.all().map(({ code }) => code)).toContain('canary/failed');
    expect(catalog.replicas.damagedCount('local')).toBe(1);
    kind = 'good';
    catalog.recordProven('local', catalog.page('oldest', null, 1));
    await canary.run(NEVER);
    expect(conditions.has('canary')).toBe(false);
  });

  test('a backend that does not answer is no damage', async () => {
    const catalog = catalogWith(['only']);
    const { canary, conditions } = canaryOn(catalog, () => Promise.reject(new Error('away')));
    await canary.run(NEVER);
    expect(conditions.all().map(({ code }) => code)).toEqual(['canary/failed']);
    expect(catalog.replicas.damagedCount('local')).toBe(0);
  });

  test('has nothing to say of a backend that holds nothing', async () => {
    const { canary, asked } = canaryOn(openCatalog(), async () => 'good');
    await canary.run(NEVER);
    expect(asked).toEqual([]);
  });
});

describe('the clock', () => {
  /** A chain whose blocks are found while we look on, each so many seconds off our clock. */
  function clockWith(offsets: readonly number[], syncing = false) {
    const catalog = openCatalog();
    const clock = new HandClock();
    const activity = new Activity();
    const conditions = new ConditionBoard(silent, clock.nowMs);
    const watch = new ClockWatch(catalog, [], conditions, activity, { wallMs: clock.nowMs, steadyMs: () => 0 });
    catalog.chain.recordStart(1);
    let previousHash = hashAt(0);
    for (const [index, offset] of offsets.entries()) {
      const height = index + 1;
      const timeSeconds = clock.nowMs() / 1_000 + offset;
      const block = { height, hash: hashAt(height), previousHash, timeSeconds, medianTimeSeconds: timeSeconds };
      activity.emit('tip', { height, hash: block.hash, medianTimeSeconds: timeSeconds, syncing });
      catalog.chain.recordBlocks([{ ...block, occurrences: [], unclear: [] }], () => false);
      activity.emit('walked', { height });
      previousHash = block.hash;
    }
    return { watch, codes: conditions.all().map(({ code }) => code) };
  }
  const hashAt = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
  const HOURS = 3_600;

  test('blocks of about now say nothing against it', () => {
    const { watch, codes } = clockWith([0, -600, 900, 30, 5_000]);
    expect(codes).toEqual([]);
    expect(watch.blockOffsetSeconds).toBe(5_000);
  });

  test('several new blocks in a row that are hours off say that it is wrong', () => {
    expect(clockWith([-9 * HOURS, -9 * HOURS, -9 * HOURS, -9 * HOURS, -9 * HOURS, -9 * HOURS]).codes).toEqual([
      'clock/wrong',
    ]);
    expect(clockWith([5 * HOURS, 5 * HOURS, 5 * HOURS, 5 * HOURS, 5 * HOURS]).codes).toEqual(['clock/wrong']);
  });

  test('one strange block is none of its faults, nor is what a node shows that catches up', () => {
    expect(clockWith([0, 0, 0, -9 * HOURS, 0, 0]).codes).toEqual([]);
    expect(clockWith([-9 * HOURS, -9 * HOURS, -9 * HOURS, -9 * HOURS, -9 * HOURS], true).codes).toEqual([]);
  });
});
