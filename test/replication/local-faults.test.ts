import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { ContentEntry } from '../../src/catalog/content-table.ts';
import { damagedCatalog } from '../../src/catalog/errors.ts';
import { blobScrub } from '../../src/replication/checked-blobs.ts';
import { localHolding } from '../../src/replication/holding.ts';
import { StorageError, storageFault } from '../../src/storage/errors.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { eventually } from '../e2e/eventually.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { rotPage } from '../storage/local/rot.ts';
import { keyOf, MemoryBackend } from './memory-backend.ts';
import { type ReplicationSetup, replicationScene } from './replication-scene.ts';

/** Blobs that lie in the local store, proven, and on the backends. */
async function stored(blobs: readonly VerifiedBlob[], setup: Partial<ReplicationSetup> = {}) {
  const s3 = new MemoryBackend('s3');
  const scene = await replicationScene({ backends: [s3], mode: 'keep', ...setup });
  await scene.replication.admit(NEVER);
  for (const blob of blobs) await scene.spool(blob);
  await scene.replication.drain(['s3'], NEVER);
  const entryOf = (blob: VerifiedBlob): ContentEntry => {
    const [found] = scene.catalog.find(blob.versionHash);
    if (found === undefined) throw new Error('The catalog does not know it.');
    return found;
  };
  scene.catalog.recordProven('local', blobs.map(entryOf));
  const pathOf = ({ hashType, versionHash }: VerifiedBlob) =>
    join(scene.folder, 'blobs', hashType, versionHash.slice(0, 2), versionHash);
  const stateAt = (backend: string, blob: VerifiedBlob) =>
    scene.catalog.placementsOf(entryOf(blob)).find((one) => one.backend === backend)?.state;
  const scrub = blobScrub(localHolding(scene.local), scene);
  return { ...scene, s3, entryOf, pathOf, stateAt, scrub };
}

/** Puts a folder in its place, which acts as EIO for one file alone: reading it is a fault, and nothing else is. */
function makeUnreadable(path: string): void {
  rmSync(path, { force: true });
  mkdirSync(path);
}

const LARGE = Array.from({ length: 12 }, (_, index) => sampleBlob(`large ${index}`, 70_000));
const SMALL = Array.from({ length: 40 }, (_, index) => sampleBlob(`small ${index}`, 3_000 + index));
const [BAD, , ROTTEN] = LARGE;
if (BAD === undefined || ROTTEN === undefined) throw new Error('There are twelve.');

describe('a file that the local disk has and does not give', () => {
  test('is damaged while the disk gives others; it is repaired from the good copy, and the bad file is moved aside', async () => {
    const made = await stored(LARGE);
    makeUnreadable(made.pathOf(BAD));
    const { found, bad } = await made.damage.searched(made.entryOf(BAD), () => made.copies.find(BAD, NEVER));
    expect([found?.from, bad]).toEqual(['s3', [{ backend: 'local', kind: 'damaged' }]]);
    expect(made.stateAt('local', BAD)).toBe('damaged');
    await made.replication.folder.mender.mendSome(NEVER);
    expect(made.stateAt('local', BAD)).toBe('good');
    expect(Buffer.from((await made.store.get(BAD, NEVER)) ?? '')).toEqual(Buffer.from(BAD.bytes));
  });

  test('does not stop the scrub: the copies behind it are read, and each bad one is found', async () => {
    const made = await stored(LARGE);
    makeUnreadable(made.pathOf(BAD));
    writeFileSync(made.pathOf(ROTTEN), 'rotten');
    let read = 0;
    for (let day = 0; day < 4; day += 1) read += (await made.scrub.slice(4, NEVER)).read;
    expect(read).toBe(LARGE.length);
    expect([made.stateAt('local', BAD), made.stateAt('local', ROTTEN)]).toEqual(['damaged', 'damaged']);
    expect(made.catalog.replicas.damagedCount('local')).toBe(2);
  });

  test('is a fault, and nothing is called damaged, while the disk gives nothing at all', async () => {
    const made = await stored(LARGE);
    makeUnreadable(made.pathOf(BAD));
    made.store.isServing = async () => false;
    const { bad, faults } = await made.copies.find(BAD, NEVER);
    expect([bad, faults.map(({ code }) => code)]).toEqual([[], ['storage/fault']]);
    const found = await made.scrub.slice(1, NEVER);
    expect(found).toMatchObject({
      read: LARGE.length - 1,
      damaged: 0,
      fault: expect.stringContaining(BAD.versionHash),
    });
  });

  test('a check of everything names it, and goes on behind it', async () => {
    const made = await stored(LARGE);
    made.store.isServing = async () => false;
    makeUnreadable(made.pathOf(BAD));
    writeFileSync(made.pathOf(ROTTEN), 'rotten');
    const found = await made.scrub.check({ index: 1, of: 1 }, () => {}, NEVER);
    expect(found).toMatchObject({ damaged: 1, fault: expect.stringContaining(BAD.versionHash) });
    expect(made.stateAt('local', ROTTEN)).toBe('damaged');
  });
});

describe.each(['keep', 'cache'] as const)('a row that the local disk has and does not give, in a %s', (mode) => {
  test('is claimed no more once the file of rows is made again, and comes back from the backend', async () => {
    const made = await stored(SMALL, { mode });
    rotPage(join(made.folder, 'blobs', 'small.sqlite'), 'table');
    // The page is in the memory of this process: another one reads it from the disk.
    await made.store.close();
    const again = await replicationScene({ backends: [made.s3], mode, folder: made.folder });
    await again.replication.admit(NEVER);
    for (const blob of SMALL) {
      const { found } = await again.copies.find(blob, NEVER);
      expect(Buffer.from(found?.blob.bytes ?? '')).toEqual(Buffer.from(blob.bytes));
    }
    const taken = await again.replication.folder.rowSalvage.salvage(NEVER);
    expect(taken).toBeLessThan(SMALL.length);
    expect(again.catalog.replicas.damagedCount('local')).toBe(SMALL.length - (taken ?? 0));
    expect(again.conditions.all().map(({ code }) => code)).toContain('storage/damaged-database');
    while (again.catalog.replicas.damagedCount('local') > 0) await again.replication.folder.mender.mendSome(NEVER);
    for (const blob of SMALL) expect(await again.store.get(blob, NEVER)).not.toBeNull();
    rmSync(again.store.rowsSetAside[0] ?? '');
    await again.replication.folder.rowSalvage.salvage(NEVER);
    expect(again.conditions.has('rows')).toBe(false);
  });
});

describe.each(['keep', 'cache'] as const)('a blob that the local disk takes and never gives back, in a %s', (mode) => {
  /** The copy here was found damaged, and the node gives the blob again; the disk writes the file and cannot read it. */
  const fetchedAgain = async () => {
    const s3 = new MemoryBackend('s3');
    const made = await replicationScene({ backends: [s3], mode });
    await made.replication.admit(NEVER);
    await made.spool(BAD);
    const copy = made.store.copy.bind(made.store);
    made.store.copy = async (name, signal) => {
      if (name.versionHash !== BAD.versionHash) return await copy(name, signal);
      throw storageFault('local', 'get', Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' }));
    };
    made.damage.report('local', BAD);
    expect(made.catalog.totals()).toMatchObject({ seen: 1, spooled: 0, stored: 0 });
    return { ...made, s3 };
  };

  test('goes to the backend, and its bytes are asked of the node once', async () => {
    const made = await fetchedAgain();
    expect(await made.spool(BAD)).toBe('s3');
    expect(made.catalog.totals()).toMatchObject({ seen: 0, stored: 1 });
    expect(made.conditions.all().map(({ code }) => code)).toContain('storage/fault');
    const { found } = await made.copies.find(BAD, NEVER);
    expect(found?.from).toBe('s3');
  });

  test('rests, and is not called spooled, while no backend takes it', async () => {
    const made = await fetchedAgain();
    made.s3.before = () => {
      throw new StorageError('storage/unreachable', 'away', { details: {}, retryable: true, hint: '' });
    };
    await expect(made.spool(BAD)).rejects.toMatchObject({ code: 'archive/no-place' });
    expect(made.catalog.totals()).toMatchObject({ seen: 1, spooled: 0, stored: 0 });
    expect(made.conditions.has('damage')).toBe(true);
  });
});

test('rows that are gone with a damaged file are claimed no more, also when a crash came before anybody looked', async () => {
  const made = await stored(SMALL);
  rotPage(join(made.folder, 'blobs', 'small.sqlite'), 'table');
  await made.store.close();
  const again = await replicationScene({ backends: [made.s3], mode: 'keep', folder: made.folder });
  for (const blob of SMALL) await again.store.get(blob, NEVER).catch(() => null);
  const { taken } = await again.store.salvageRows(NEVER);
  // The process ends here, and begins again.
  const gone = SMALL.length - taken;
  expect(gone).toBeGreaterThan(0);
  again.start();
  await eventually(() => expect(again.damage.found.get('local')).toBe(gone));
});

describe.each(['keep', 'cache'] as const)('a blob that the local disk refuses, in a %s', (mode) => {
  const blob = sampleBlob('refused', 70_000);

  test('goes to a backend, and a condition reports it', async () => {
    const made = await stored([], { mode });
    const parent = dirname(made.pathOf(blob));
    mkdirSync(dirname(parent), { recursive: true });
    writeFileSync(parent, 'a file in the place of a folder');
    expect(await made.spool(blob)).toBe('s3');
    expect(made.catalog.find(blob.versionHash)).toMatchObject([{ state: 'stored' }]);
    expect(made.conditions.all()).toContainEqual(
      expect.objectContaining({
        code: 'storage/fault',
        message: expect.stringContaining(parent),
        blocksReadiness: false,
      }),
    );
    expect(made.stateAt('local', blob)).toBe(mode === 'keep' ? 'damaged' : undefined);
    rmSync(parent);
    if (mode === 'cache') return;
    await made.replication.folder.mender.mendSome(NEVER);
    expect(made.stateAt('local', blob)).toBe('good');
  });

  test('is left for later where no backend takes it either: the others have a place', async () => {
    const made = await stored([], { mode });
    made.s3.before = () => {
      throw new StorageError('storage/unreachable', 'It is away.', { retryable: true, hint: 'Wait.' });
    };
    const parent = dirname(made.pathOf(blob));
    mkdirSync(dirname(parent), { recursive: true });
    writeFileSync(parent, '');
    await expect(made.writer.put(blob, NEVER)).rejects.toMatchObject({ code: 'archive/no-place' });
    expect(await made.writer.put(sampleBlob('another', 70_001), NEVER)).toBe('local');
    made.store.isServing = async () => false;
    await expect(made.writer.put(blob, NEVER)).rejects.toMatchObject({ code: 'storage/fault' });
  });
});

test('a disk that refused a blob is told as failing until a later look finds it healthy, also where no other blob comes', async () => {
  const made = await replicationScene({ backends: [new MemoryBackend('s3')], mode: 'keep' });
  await made.replication.admit(NEVER);
  const { keep } = made.store;
  const refusal = storageFault('local', 'put', Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' }));
  made.store.keep = () => Promise.reject(refusal);
  expect(await made.spool(BAD)).toBe('s3');
  made.store.keep = keep;
  await made.replication.lookAtRoom(NEVER);
  expect(made.conditions.has('local')).toBe(true);
  made.clock.steadyMs += 600_000;
  await made.replication.lookAtRoom(NEVER);
  expect(made.conditions.has('local')).toBe(false);
});

test('a small blob whose row cannot be written is kept as a file', async () => {
  const made = await stored([]);
  const other = new Database(join(made.folder, 'blobs', 'small.sqlite'));
  other.exec("CREATE TRIGGER refuse BEFORE INSERT ON blob BEGIN SELECT RAISE(ABORT, 'this row is not written'); END");
  other.close();
  const [blob] = SMALL;
  if (blob === undefined) throw new Error('There are forty.');
  expect(await made.spool(blob)).toBe('local');
  expect(Buffer.from((await made.store.get(blob, NEVER)) ?? '')).toEqual(Buffer.from(blob.bytes));
});

describe('a folder that keeps and is full', () => {
  async function full() {
    const disk = { freeBytes: 0, totalBytes: 2 ** 40, looks: 0 };
    const look = async () => {
      disk.looks += 1;
      return { ...disk };
    };
    const made = await stored([], { disk: look });
    for (const blob of SMALL.slice(0, 3)) expect(await made.spool(blob)).toBe('s3');
    made.s3.asked.length = 0;
    return { ...made, disk };
  }

  test('passes new blobs on to a backend, and fetches none of them back before there is room', async () => {
    const { s3, disk, catalog, clock, replication, entryOf } = await full();
    const { mender } = replication.folder;
    expect(await mender.mendSome(NEVER)).toBe(false);
    expect(s3.asked).toEqual([]);
    const failures = SMALL.slice(0, 3).map(
      (blob) => catalog.placementsOf(entryOf(blob)).find(({ backend }) => backend === 'local')?.lastFailure?.code,
    );
    expect(failures).toEqual(['storage/full', undefined, undefined]);
    disk.freeBytes = 2 ** 40;
    clock.wallMs += 60_000;
    await mender.mendDue(NEVER);
    expect([s3.asked.length, catalog.replicas.damagedCount('local')]).toEqual([3, 0]);
  });

  test('is looked at again when another blob comes or half a minute has passed, and not meanwhile', async () => {
    const { s3, disk, spool, start } = await full();
    const before = disk.looks;
    const { stop } = start();
    await eventually(() => expect(disk.looks).toBeGreaterThan(before));
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect(disk.looks - before).toBeLessThan(3);
    s3.asked.length = 0;
    const last = sampleBlob('comes later', 1_000);
    await spool(last);
    for (let turns = 0; turns < 50; turns += 1) await turn();
    await stop();
    expect(s3.asked.filter((asked) => asked.startsWith('get'))).toEqual([`get ${keyOf(last)}`]);
  });
});

test('a catalog that fails once while a cache looks for damaged copies is told until the next look', async () => {
  const scene = await replicationScene({ backends: [new MemoryBackend('s3')], mode: 'cache' });
  const { replicas } = scene.catalog;
  const dueDamaged = replicas.dueDamaged.bind(replicas);
  const codes: (string | undefined)[] = [];
  replicas.dueDamaged = (backend, limit) => {
    codes.push(scene.conditions.all()[0]?.code);
    if (codes.length === 1) throw damagedCatalog('catalog.sqlite', new Error('EIO'));
    return dueDamaged(backend, limit);
  };
  scene.start();
  await eventually(() => expect(codes.length).toBeGreaterThan(1));
  await eventually(() => expect(scene.conditions.all()).toEqual([]));
  expect(codes[1]).toBe('catalog/damaged');
});
