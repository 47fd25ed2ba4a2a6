import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { prepareJob } from '../../src/core/jobs/job-kind.ts';
import { Upkeep } from '../../src/replication/upkeep.ts';
import { upkeepJobs } from '../../src/replication/upkeep-jobs.ts';
import { customPath } from '../../src/storage/object-store.ts';
import { fault } from '../../src/storage/probe.ts';
import { eventually } from '../e2e/eventually.ts';
import { NEVER, nameOf, sampleBlob, sampleBytes } from '../sample-blobs.ts';
import { customName } from '../storage/custom-conformance.ts';
import { keyOf, MemoryBackend, refusal } from './memory-backend.ts';
import { type ReplicationSetup, replicationScene } from './replication-scene.ts';

const BLOBS = Array.from({ length: 12 }, (_, index) => sampleBlob(`kept up ${index}`, 100 + index));
const FIRST = BLOBS[0] ?? sampleBlob('', 0);
const LAST = BLOBS[11] ?? sampleBlob('', 0);
const CHECK = { subset: null, backend: null, repair: false };
const READ = { ...CHECK, subset: { index: 1, of: 1 } };

async function scene(setup: Partial<ReplicationSetup> = {}) {
  const backends = ['s3', 'second'].map((id) => new MemoryBackend(id));
  const [s3, second] = backends;
  if (s3 === undefined || second === undefined) throw new Error('There are two backends.');
  const replicated = await replicationScene({ backends, replicasRequired: 2, ...setup });
  const { replication } = replicated;
  const upkeep = new Upkeep(replicated);
  const jobs = upkeepJobs({ upkeep, auditChain: () => Promise.reject(new Error('not asked here')) });
  const job = async (kind: string, parameters: object) => {
    const found = jobs.find((one) => one.kind === kind);
    if (found === undefined) throw new Error(`no job is called ${kind}`);
    return await prepareJob(found, parameters)({ signal: NEVER, report: () => {} });
  };
  const stored = async () => {
    await replication.admit(NEVER);
    for (const blob of BLOBS) await replicated.spool(blob);
    expect(await upkeep.fill(NEVER)).toEqual(new Map());
  };
  const check = (options: Parameters<Upkeep['check']>[0]) => upkeep.check(options, () => {}, NEVER);
  return { ...replicated, s3, second, upkeep, job, stored, check };
}

describe('check', () => {
  test('counts the blobs that have too few good copies without a place that cannot be asked', async () => {
    const { stored, check, second } = await scene();
    await stored();
    expect(await check(CHECK)).toMatchObject({ notAsked: [], short: null });
    second.before = () => {
      throw refusal('second', 'storage/no-bucket');
    };
    expect(await check(CHECK)).toMatchObject({
      notAsked: ['second'],
      short: { required: 2, blobs: BLOBS.length },
      leftCount: 0,
    });
  });

  test('says of each place what it lists and reads, and names what is not as it should be', async () => {
    const { stored, check, job, s3, second } = await scene();
    await stored();
    s3.blobs.delete(keyOf(FIRST));
    second.blobs.set(keyOf(LAST), new Uint8Array(LAST.bytes.length));
    expect(await check(CHECK)).toMatchObject({
      backends: [
        { backend: 's3', listed: 11, read: 1, missing: 1, damaged: 0, fault: null },
        // The size is right: only reading can tell.
        { backend: 'second', listed: 12, read: 0, missing: 0, damaged: 0, fault: null },
      ],
      left: [{ backend: 's3', ...nameOf(FIRST), elsewhere: true }],
      leftCount: 1,
      repaired: 0,
      repairedMeanwhile: [],
      mended: [],
    });
    expect(await job('check', { subset: { index: 1, of: 1 } })).toMatchObject({
      exitCode: 3,
      report: {
        backends: [
          { read: 11, missing: 0 },
          { read: 12, damaged: 1 },
        ],
        leftCount: 2,
      },
    });
    expect(await job('check', { subset: { index: 1, of: 1 }, repair: true })).toMatchObject({
      exitCode: 0,
      report: { left: [], leftCount: 0, repaired: 2 },
    });
    expect(s3.blobs.get(keyOf(FIRST))).toEqual(FIRST.bytes);
    expect(second.blobs.get(keyOf(LAST))).toEqual(LAST.bytes);
    expect(await job('check', { subset: { index: 1, of: 1 } })).toMatchObject({ exitCode: 0 });
  });

  test('names the copies that a running archive repaired before the check was over: they were found all the same', async () => {
    const { stored, job, s3, start, catalog } = await scene();
    await stored();
    start();
    s3.blobs.delete(keyOf(FIRST));
    // The last copy is not given before the first one is back: as on a machine that has much to do.
    s3.before = async (operation, name) => {
      if (operation !== 'get' || name === null || keyOf(name) !== keyOf(LAST)) return;
      await eventually(() => expect(catalog.replicas.damagedCount('s3')).toBe(0));
    };
    expect(await job('check', { subset: { index: 1, of: 1 }, backend: 's3' })).toMatchObject({
      exitCode: 3,
      report: { left: [], leftCount: 0, repaired: 1, repairedMeanwhile: [{ backend: 's3', ...nameOf(FIRST) }] },
    });
    expect(await job('check', { subset: { index: 1, of: 1 } })).toMatchObject({
      exitCode: 0,
      report: { repairedMeanwhile: [] },
    });
  });

  test('asks the others when a place cannot be asked, and says so', async () => {
    const { stored, job, s3, second, replication } = await scene();
    await stored();
    for (const site of replication.sites) site.isAdmitted = false;
    s3.findings = [fault('reachable', 'It is away.', 'Wait.')];
    second.blobs.delete(keyOf(FIRST));
    expect(await job('check', {})).toMatchObject({
      exitCode: 1,
      report: {
        backends: [
          { backend: 's3', listed: 0, fault: 'It is away.' },
          { backend: 'second', missing: 1, fault: null },
        ],
        left: [{ backend: 'second', ...nameOf(FIRST) }],
      },
    });
  });

  test('repair leaves what no place has a good copy of, and says that it is nowhere else', async () => {
    const { stored, job, s3, second, store, replication } = await scene();
    await stored();
    for (const backend of [s3, second]) backend.blobs.delete(keyOf(FIRST));
    await store.delete(nameOf(FIRST), NEVER);
    expect(replication.status().map(({ queued }) => queued)).toEqual([0, 0]);
    expect(await job('check', { repair: true })).toMatchObject({
      exitCode: 3,
      report: { leftCount: 2, repaired: 0, left: [{ elsewhere: false }, { elsewhere: false }] },
    });
  });

  test('repair tries each copy here once that no place can give, however long that takes', async () => {
    const { stored, upkeep, s3, second, store, clock, damage, catalog } = await scene({ mode: 'keep' });
    await stored();
    catalog.recordProven('local', catalog.page('oldest', null, BLOBS.length));
    for (const blob of [FIRST, LAST]) {
      await store.delete(nameOf(blob), NEVER);
      damage.report('local', blob);
    }
    for (const backend of [s3, second]) backend.blobs.clear();
    const stopping = new AbortController();
    const copy = store.copy.bind(store);
    let looks = 0;
    store.copy = async (...given) => {
      // A copy that rested is due again before the next one was tried.
      clock.wallMs += 600_000;
      looks += 1;
      if (looks > 100) stopping.abort(new Error('it does not end'));
      return await copy(...given);
    };
    const repair = { ...CHECK, backend: 'local', repair: true };
    expect(await upkeep.check(repair, () => {}, stopping.signal)).toMatchObject({ leftCount: 2, repaired: 0 });
  });

  test('repair takes in what a place has and the catalog does not know', async () => {
    const { stored, job, s3, catalog } = await scene();
    await stored();
    const found = sampleBlob('unknown', 50);
    s3.blobs.set(keyOf(found), found.bytes);
    expect(await job('check', { repair: true })).toMatchObject({
      report: { backends: [{ unknown: 1 }, { unknown: 0 }] },
    });
    expect(catalog.find(found.versionHash)).toMatchObject([{ state: 'stored' }]);
  });

  test('looks into a data folder that keeps as into any other place', async () => {
    const { stored, check, store, upkeep, catalog } = await scene({ mode: 'keep' });
    expect(upkeep.places).toEqual(['local', 's3', 'second']);
    await stored();
    catalog.recordProven('local', catalog.page('oldest', null, BLOBS.length));
    await store.delete(nameOf(FIRST), NEVER);
    expect(await check({ ...READ, backend: 'local' })).toMatchObject({
      backends: [{ backend: 'local', listed: 11, read: 12, missing: 1 }],
      left: [{ backend: 'local', ...nameOf(FIRST) }],
    });
    expect(await check({ ...READ, backend: 'local', repair: true })).toMatchObject({ left: [], repaired: 1 });
    expect(await store.stat(nameOf(FIRST), NEVER)).not.toBeNull();
  });
});

describe('fill', () => {
  test('brings what waits to every backend that can be asked, and says why one cannot', async () => {
    const { upkeep, spool, s3, second } = await scene();
    second.findings = [fault('reachable', 'It is away.', 'Wait.')];
    await upkeep.admit(NEVER);
    for (const blob of BLOBS) await spool(blob);
    expect(await upkeep.fill(NEVER)).toEqual(new Map([['second', 'It is away.']]));
    expect([s3.blobs.size, second.blobs.size]).toEqual([12, 0]);
  });
});

describe('rebuild', () => {
  test('one under way keeps the catalog from being recorded as whole, also where it is broken off', async () => {
    const { catalogRebuild, catalog, store, spool, replication, conditions } = await scene();
    await spool(FIRST);
    await replication.admit(NEVER);
    const [isHeld, goOn, breaking] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      new AbortController(),
    ];
    vi.spyOn(store, 'copy').mockImplementation(async () => {
      isHeld.resolve();
      await goOn.promise;
      throw refusal('local', 'storage/unreachable');
    });
    const asked = catalogRebuild.whileRebuilding(() => catalogRebuild.readFolder(breaking.signal));
    await isHeld.promise;
    const stopping = new AbortController();
    const adopting = catalogRebuild.adoptBackends(stopping.signal);
    await eventually(() => expect(conditions.has('rebuild')).toBe(true));
    expect(catalog.isRebuilt()).toBe(false);
    breaking.abort(new Error('the operator ended it'));
    goOn.resolve();
    await expect(asked).rejects.toThrow('the operator ended it');
    expect(catalogRebuild.folderFault).not.toBeNull();
    stopping.abort();
    await adopting;
    expect(catalog.isRebuilt()).toBe(false);
  });

  test('a cache whose catalog was lost counts the blobs that it finds in the folder, each once', async () => {
    const { catalogRebuild, store, replication, spool } = await scene({ budgetBytes: 5_000 });
    await spool(FIRST);
    for (const blob of BLOBS) await store.put(blob, 'replace', NEVER);
    await catalogRebuild.readFolder(NEVER);
    await catalogRebuild.readFolder(NEVER);
    expect(replication.room.cachedBytes).toBe(BLOBS.reduce((sum, { bytes }) => sum + bytes.length, 0));
  });

  test('a cache enters the file of a blob that a backend holds, and counts it once, however often it finds it', async () => {
    const { catalog, catalogRebuild, store, replication } = await scene({ budgetBytes: 5_000 });
    const times = { txid: null, medianTimeSeconds: null, firstSeenMs: 1 };
    catalog.replicas.recordFound('s3', [{ ...nameOf(FIRST), sizeBytes: FIRST.bytes.length, ...times }]);
    await store.put(FIRST, 'replace', NEVER);
    await catalogRebuild.readFolder(NEVER);
    await catalogRebuild.readFolder(NEVER);
    const { length } = FIRST.bytes;
    expect([replication.room.cachedBytes, catalog.replicas.cached.localBytes()]).toEqual([length, length]);
  });

  const unreadable = (backend: MemoryBackend) => {
    backend.before = (operation, name) => {
      if (operation === 'get' && name !== null && keyOf(name) === keyOf(FIRST)) throw refusal(backend.id);
    };
  };

  test('makes the catalog again from all places, and it is whole only when nothing was left out', async () => {
    const { upkeep, s3, second, catalog, catalogRebuild, store } = await scene();
    for (const blob of BLOBS.slice(0, 8)) s3.blobs.set(keyOf(blob), blob.bytes);
    for (const blob of BLOBS.slice(4)) second.blobs.set(keyOf(blob), blob.bytes);
    await store.put(sampleBlob('in the folder', 70), 'replace', NEVER);
    unreadable(s3);
    const told: string[] = [];
    const heard = ({ message }: { readonly message: string }) => {
      told.push(message);
      expect(catalogRebuild.isDone).toBe(false);
    };
    expect(await upkeep.rebuild(null, heard, NEVER)).toMatchObject({
      folder: 1,
      backends: { s3: { adopted: 7, unread: 1 }, second: { adopted: 8, unread: 0 } },
      faults: { s3: '1 of its blobs could not be read.' },
    });
    expect(told).toContain('local: 1 blobs');
    expect(catalog.isRebuilt()).toBe(false);
    s3.before = () => {};
    expect(await upkeep.rebuild(null, () => {}, NEVER)).toMatchObject({ backends: { s3: { adopted: 1 } }, faults: {} });
    expect(catalog.isRebuilt()).toBe(true);
    expect(catalog.totals()).toMatchObject({ stored: 4, spooled: 9 });
  });

  test('tells of the custom commitments that it found in the data folder', async () => {
    const { upkeep, folder } = await scene();
    const bytes = sampleBytes('custom', 70);
    const path = join(folder, customPath(customName(FIRST.versionHash, bytes)));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    const found = await upkeep.rebuild(null, () => {}, NEVER);
    expect(found).toMatchObject({ custom: { local: { adopted: 1 } }, faults: {} });
  });

  test('never counts as whole with one backend alone, and the faults of others are none of it', async () => {
    const { job, s3, second, catalog } = await scene();
    s3.blobs.set(keyOf(LAST), LAST.bytes);
    second.findings = [fault('reachable', 'It is away.', 'Wait.')];
    expect(await job('rebuild', { from: 's3' })).toMatchObject({
      exitCode: 0,
      report: { backends: { s3: { adopted: 1 } } },
    });
    expect(await job('rebuild', {})).toMatchObject({ exitCode: 1, report: { faults: { second: 'It is away.' } } });
    expect(catalog.isRebuilt()).toBe(false);
  });
});
