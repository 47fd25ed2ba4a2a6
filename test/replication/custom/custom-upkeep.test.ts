import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { CatalogGate } from '../../../src/reading/gate.ts';
import { CustomKeeper } from '../../../src/replication/custom/custom-keeper.ts';
import type { BackendFindings, Subset } from '../../../src/replication/scrub.ts';
import { type CustomName, customPath } from '../../../src/storage/object-store.ts';
import type { S3Options } from '../../../src/storage/s3/s3-options.ts';
import { S3Store } from '../../../src/storage/s3/s3-store.ts';
import { nobleHasher } from '../../../src/verify/hasher.ts';
import { NEVER, sampleBlob, sampleBytes } from '../../sample-blobs.ts';
import { describeWithServers, SERVER_START_MS } from '../../servers/availability.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { customName } from '../../storage/custom-conformance.ts';
import { damage, newBucket } from '../../storage/s3/s3-fixture.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { replicationScene } from '../replication-scene.ts';

const ALL = { index: 1, of: 1 };
const COUNT = 12;
const bytesOf = (index: number) => sampleBytes(`custom ${index}`, 100 + index);
const NAMES = Array.from({ length: COUNT }, (_, index) =>
  customName(sampleBlob(`commits ${index}`, 10).versionHash, bytesOf(index)),
);
const at = (index: number): CustomName => {
  const name = NAMES[index];
  if (name === undefined) throw new RangeError(`There is no ${index}.`);
  return name;
};
const quietly = () => {};

describeWithServers('custom commitments in the data folder and in a bucket', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, SERVER_START_MS);
  afterAll(() => server?.stop());

  async function scene({ folder, options }: { folder?: string; options?: S3Options } = {}) {
    const bucket = options ?? (await newBucket(server));
    const opened = async () => {
      const store = await S3Store.open(bucket);
      onTestFinished(() => store.close());
      return store;
    };
    const backend = { id: 's3', place: bucket.bucket, store: await opened(), openAgain: opened };
    const made = await replicationScene({ backends: [backend], folder: folder ?? temporaryFolder(), time: 'real' });
    await made.replication.admit(NEVER);
    const { catalog, custom } = made;
    const keeper = new CustomKeeper(catalog, nobleHasher, custom.places);
    const check = async (subset: Subset | null = ALL) => {
      const found: BackendFindings[] = [];
      for (const scrub of custom.scrubs(() => true)) found.push(await scrub.check(subset, quietly, NEVER));
      return found;
    };
    /** The daily part of each place: the listing, and what is read. */
    const daily = async (days: number) => {
      const found: BackendFindings[] = [];
      for (const scrub of custom.scrubs(() => true)) {
        found.push(await scrub.check(null, quietly, NEVER), await scrub.slice(days, NEVER));
      }
      return found;
    };
    const file = (index: number) => join(made.folder, customPath(at(index)));
    const rot = (index: number) => damage(server, bucket.bucket, customPath(at(index)), sampleBytes('rotten', 9));
    const left = () => ['local', 's3'].map((place) => catalog.custom.damaged(place, 100));
    return { ...made, store: backend.store, options: bucket, keeper, check, daily, file, rot, left };
  }

  async function kept() {
    const made = await scene();
    for (const [index, name] of NAMES.entries()) {
      for (const _ of ['once', 'twice']) await made.keeper.notice(name.versionHash, bytesOf(index), NEVER);
    }
    await made.custom.worker.deliverNow(NEVER);
    return made;
  }

  test('bytes that prove to be good where they are to be repaired are read once, and not written', async () => {
    const { catalog, store, custom } = await kept();
    const [get, put] = [vi.spyOn(store, 'get'), vi.spyOn(store, 'put')];
    catalog.custom.recordDamaged(at(0), 's3');
    await custom.worker.deliverNow(NEVER);
    expect([get.mock.calls.length, put.mock.calls.length]).toEqual([1, 0]);
    expect(catalog.custom.damagedCount('s3')).toBe(0);
  });

  test('are replicated, and a check of what is whole finds nothing', async () => {
    const { check, catalog, store } = await kept();
    const good = {
      listed: COUNT,
      unknown: 0,
      read: COUNT,
      missingRecords: 0,
      isResumed: false,
      missing: 0,
      damaged: 0,
      fault: null,
    };
    expect(await check()).toEqual([
      { backend: 'local', ...good },
      { backend: 's3', ...good },
    ]);
    expect(await check(null)).toMatchObject([{ read: 0 }, { read: 0 }]);
    expect(catalog.custom.waitingCount('s3')).toBe(0);
    expect(Buffer.from((await store.get(at(0), NEVER)) ?? [])).toEqual(Buffer.from(bytesOf(0)));
  });

  test('a listing finds what is gone, what has another size and what is unknown; reading finds what has rotted', async () => {
    const { check, rot, file, store, left } = await kept();
    await store.purge({ customOf: at(3).versionHash }, NEVER);
    await rot(4);
    await rm(file(5));
    await writeFile(file(6), Buffer.alloc(106, 1));
    const unknown = customName(sampleBlob('unknown', 5).versionHash, sampleBytes('unknown', 70));
    await store.put({ ...unknown, bytes: sampleBytes('unknown', 70) }, 'replace', NEVER);
    // The rotten copy has the same size, so that only reading it tells.
    expect(await check(null)).toMatchObject([
      { backend: 'local', listed: COUNT - 1, unknown: 0, missing: 1, damaged: 0 },
      { backend: 's3', listed: COUNT, unknown: 1, missing: 1, damaged: 1 },
    ]);
    expect(await check()).toMatchObject([{ damaged: 1 }, { missing: 0, damaged: 0 }]);
    expect(left()).toEqual([
      [
        { ...at(5), elsewhere: true },
        { ...at(6), elsewhere: true },
      ],
      [
        { ...at(3), elsewhere: true },
        { ...at(4), elsewhere: true },
      ],
    ]);
  });

  test('a repair puts back what is missing, replaces what is damaged and keeps it aside, and takes in what was unknown', async () => {
    const { check, custom, rot, file, folder, store, left, catalog } = await kept();
    await store.purge({ customOf: at(3).versionHash }, NEVER);
    await rot(4);
    await rm(file(5));
    await writeFile(file(6), 'rotten here');
    const bytes = sampleBytes('unknown', 70);
    const unknown = customName(sampleBlob('unknown', 5).versionHash, bytes);
    await store.put({ ...unknown, bytes: bytes }, 'replace', NEVER);
    expect(await custom.repair(await check(), NEVER)).toMatchObject([{ fault: null }, { fault: null }]);
    expect(left()).toEqual([[], []]);
    const good = { listed: COUNT + 1, unknown: 0, read: COUNT + 1, missing: 0, damaged: 0 };
    expect(await check()).toMatchObject([good, good]);
    expect(catalog.custom.isGoodAt('local', unknown)).toBe(true);
    const aside = join(folder, 'custom', 'damaged', at(6).versionHash, at(6).keccak);
    const [copy = ''] = await readdir(aside);
    expect(await readFile(join(aside, copy), 'utf8')).toBe('rotten here');
  });

  test('a content that no place has is lost until it turns up: nothing is claimed of it, and the node brings it back at once', async () => {
    const { check, custom, rot, file, left, catalog, keeper } = await kept();
    await rot(7);
    await rm(file(7));
    await custom.repair(await check(), NEVER);
    expect(left()).toEqual([[{ ...at(7), elsewhere: false }], [{ ...at(7), elsewhere: false }]]);
    expect([catalog.custom.has(at(7).versionHash), catalog.custom.lostCount()]).toEqual([false, 1]);
    expect(await custom.places.find(at(7), NEVER)).toMatchObject({ bytes: null });
    // Known already: it need not come twice.
    expect(await keeper.notice(at(7).versionHash, bytesOf(7), NEVER)).toBe(true);
    await custom.worker.deliverNow(NEVER);
    expect(left()).toEqual([[], []]);
    expect(catalog.custom.has(at(7).versionHash)).toBe(true);
  });

  test('a reader gets what another place has; the damaged copy is found by that, and repaired', async () => {
    const { file, custom, left } = await kept();
    await writeFile(file(2), 'rotten');
    const { bytes } = await custom.places.find(at(2), NEVER);
    expect(bytes !== null && Buffer.from(bytes).equals(bytesOf(2))).toBe(true);
    expect(left()).toEqual([[{ ...at(2), elsewhere: true }], []]);
    await custom.worker.deliverNow(NEVER);
    expect(left()).toEqual([[], []]);
    expect(Buffer.from(await readFile(file(2)))).toEqual(Buffer.from(bytesOf(2)));
  });

  test('the daily part reads all of it in as many days', async () => {
    const { daily, rot } = await kept();
    await rot(1);
    let damaged = 0;
    let read = 0;
    for (let day = 0; day < 3; day += 1) {
      // Each place gives the comparison of its listing, and a part that is read.
      for (const found of await daily(3)) {
        damaged += found.damaged;
        read += found.read;
      }
    }
    // The listing told of the rotten copy by its size, so that 11 were left to read there.
    expect([damaged, read]).toEqual([1, 2 * COUNT]);
  });

  test('days that find much damaged read no less than others: the round takes no longer', async () => {
    const { daily, file } = await kept();
    // The damaged copies have the same size, so that no listing tells.
    for (let index = 0; index < 9; index += 1) await writeFile(file(index), Buffer.alloc(100 + index, 1));
    let damaged = 0;
    let read = 0;
    for (let day = 0; day < 3; day += 1) {
      for (const found of await daily(3)) {
        damaged += found.damaged;
        read += found.read;
      }
    }
    expect([damaged, read]).toEqual([9, 2 * COUNT]);
  });

  test('the parts of a check are everything, each once; one that was interrupted goes on where it was, and says so', async () => {
    const { check, catalog } = await kept();
    const readOf = async () => {
      let read = 0;
      for (const index of [1, 2, 3]) for (const found of await check({ index, of: 3 })) read += found.read;
      return read;
    };
    expect(await readOf()).toBe(2 * COUNT);
    catalog.replicas.recordProgress('s3', 'custom check 1/1', COUNT - 2);
    expect(await check()).toMatchObject([
      { read: COUNT, isResumed: false },
      { read: 2, isResumed: true },
    ]);
    expect(await readOf()).toBe(2 * COUNT);
  });

  test('one that the disk does not give holds up the check of none behind it, and is told', async () => {
    const { check, file } = await kept();
    // A folder in its place acts as EIO for one file alone: reading it is a fault, and nothing else is.
    await rm(file(0));
    await mkdir(file(0));
    const [local] = await check();
    expect(local).toMatchObject({ read: COUNT - 1, damaged: 0, missing: 0 });
    expect(local?.fault).toContain(`${customPath(at(0))} could not be looked at`);
  });

  test('are found again when the catalog is lost: those alone that hash to their names, and are no blobs', async () => {
    const { options, folder, rot } = await kept();
    await rot(8);
    const blob = sampleBlob('a blob after all', 80);
    const proven = customName(blob.versionHash, blob.bytes);
    await mkdir(dirname(join(folder, customPath(proven))), { recursive: true });
    await writeFile(join(folder, customPath(proven)), blob.bytes);
    for (const name of await readdir(folder)) {
      if (name.startsWith('catalog.')) await rm(join(folder, name));
    }
    await rm(join(folder, customPath(at(9))));
    const again = await scene({ folder, options });
    expect(await again.custom.adopt(null, null, NEVER)).toEqual({
      local: { adopted: COUNT - 1, damaged: 0, unread: 0, refused: 0 },
      s3: { adopted: COUNT - 1, damaged: 1, unread: 0, refused: 0 },
    });
    expect(again.catalog.custom.isKnown(proven)).toBe(false);
    expect(again.catalog.custom.has(at(8).versionHash)).toBe(true);
    await again.custom.worker.deliverNow(NEVER);
    expect(await again.check()).toMatchObject([
      { damaged: 0, missing: 0 },
      { damaged: 0, missing: 0, read: COUNT },
    ]);
  });

  test('withheld custom bytes are not kept, read, repaired or indexed again, until they are let in', async () => {
    const { catalog, custom, keeper, check, file } = await kept();
    const { versionHash } = at(0);
    const entry = {
      versionHash,
      hashType: 'keccak256',
      archiver: 'me',
      publicReason: null,
      reason: 'told to',
      atMs: 1,
    } as const;
    catalog.withheld.record([{ ...entry, purge: false }], false);
    expect(catalog.custom.isKnown(at(0))).toBe(false);
    expect(new CatalogGate(catalog).refusal({ versionHash, hashType: null })).toMatchObject({ kind: 'withheld' });
    expect(await keeper.notice(at(0).versionHash, bytesOf(0), NEVER)).toBe(false);
    expect(await custom.adopt(null, null, NEVER)).toMatchObject({ local: { adopted: 0 }, s3: { adopted: 0 } });
    expect(await check()).toMatchObject([
      { listed: COUNT - 1, unknown: 0 },
      { listed: COUNT - 1, unknown: 0 },
    ]);
    expect(existsSync(file(0))).toBe(true);
    catalog.withheld.revoke([{ ...entry, purge: false }], false, 2);
    expect(await custom.adopt(null, at(0).versionHash, NEVER)).toMatchObject({
      local: { adopted: 1 },
      s3: { adopted: 1 },
    });
    expect(new CatalogGate(catalog).refusal({ versionHash, hashType: null })).toBeNull();
    expect((await custom.places.find(at(0), NEVER)).bytes).not.toBeNull();
  });
});

test('refused custom commitments stay a condition after another hash was looked at', async () => {
  const folder = temporaryFolder();
  const { custom, conditions } = await replicationScene({ backends: [], folder, allowsCustom: false });
  const path = join(folder, customPath(at(0)));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytesOf(0));
  expect(await custom.adopt(null, null, NEVER)).toMatchObject({ local: { refused: 1 } });
  await custom.adopt(null, at(1).versionHash, NEVER);
  expect(conditions.has('refused-custom:local')).toBe(true);
  await rm(path);
  await custom.adopt(null, null, NEVER);
  expect(conditions.has('refused-custom:local')).toBe(false);
});
