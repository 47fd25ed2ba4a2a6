import { setImmediate as aTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../src/core/observability/logger.ts';
import { blobScrub } from '../../src/replication/checked-blobs.ts';
import { DailyScrub } from '../../src/replication/daily-scrub.ts';
import { siteHolding } from '../../src/replication/holding.ts';
import type { CheckProgress } from '../../src/replication/scrub.ts';
import { fault } from '../../src/storage/probe.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { keyOf, losePart, MemoryBackend, refusal } from './memory-backend.ts';
import { replicationScene } from './replication-scene.ts';

const BLOBS = Array.from({ length: 30 }, (_, index) => sampleBlob(`scrubbed ${index}`, 100 + index));

async function stored() {
  const backend = new MemoryBackend('s3');
  const scene = await opened(backend);
  for (const blob of BLOBS) await scene.spool(blob);
  await scene.replication.drain(['s3'], NEVER);
  const reads = () => backend.asked.splice(0).filter((asked) => asked.startsWith('get '));
  reads();
  return { ...scene, backend, reads };
}

/** An archive on this folder as a process finds it, whether one was there before or not. */
async function opened(backend: MemoryBackend, folder = temporaryFolder()) {
  const scene = await replicationScene({ backends: [backend], folder });
  await scene.replication.admit(NEVER);
  const [site] = scene.replication.sites;
  if (site === undefined) throw new Error('There is no backend.');
  return { ...scene, scrub: blobScrub(siteHolding(site), scene) };
}

/** More turns of the event loop than reads of a backend in memory need, one after another. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await aTurn();
}

const at = (index: number) => keyOf(BLOBS[index] ?? sampleBlob('', 0));

describe('a check', () => {
  test('finds missing copies and copies of another size by listing, and reads nothing else', async () => {
    const { backend, scrub, reads, catalog } = await stored();
    backend.blobs.delete(at(3));
    backend.blobs.set(at(7), new Uint8Array(1));
    backend.blobs.set(keyOf(sampleBlob('unknown', 5)), new Uint8Array(5));
    const findings = await scrub.check(null, () => {}, NEVER);
    expect(findings).toMatchObject({ listed: 30, unknown: 1, read: 2, missing: 1, damaged: 1, fault: null });
    // Each of the two is read again on a fresh connection before it is called so.
    expect(new Set(reads())).toEqual(new Set([`get ${at(3)}`, `get ${at(7)}`]));
    expect(catalog.replicas.damagedCount('s3')).toBe(2);
  });

  test('finds rotten copies by reading; its parts are everything, each once', async () => {
    const { backend, scrub, reads } = await stored();
    backend.blobs.set(at(11), new Uint8Array(111));
    let read = 0;
    let damaged = 0;
    for (const index of [1, 2, 3]) {
      const findings = await scrub.check({ index, of: 3 }, () => {}, NEVER);
      read += findings.read;
      damaged += findings.damaged;
    }
    expect([read, damaged]).toEqual([30, 1]);
    expect(new Set(reads())).toHaveProperty('size', 30);
  });

  test('goes on after a copy that a backend has and does not give: the copy is damaged, and repaired', async () => {
    const { backend, scrub, replication, catalog } = await stored();
    losePart(backend, BLOBS[5] ?? sampleBlob('', 0));
    const whole = { index: 1, of: 1 };
    expect(await scrub.check(whole, () => {}, NEVER)).toMatchObject({ read: 30, damaged: 1, fault: null });
    expect(catalog.totals()).toMatchObject({ stored: 29 });
    await replication.drain(['s3'], NEVER);
    expect(await scrub.check(whole, () => {}, NEVER)).toMatchObject({ read: 30, damaged: 0, fault: null });
    expect(catalog.totals()).toMatchObject({ stored: 30 });
  });

  test('calls nothing damaged that a backend does not give which gives nothing', async () => {
    const { backend, scrub, catalog } = await stored();
    losePart(backend, BLOBS[5] ?? sampleBlob('', 0));
    backend.findings = [fault('readable', 'It gives nothing.', 'Look at it.')];
    const findings = await scrub.check({ index: 1, of: 1 }, () => {}, NEVER);
    expect(findings).toMatchObject({ damaged: 0, fault: expect.stringContaining('The s3 store refuses.') });
    expect(catalog.replicas.damagedCount('s3')).toBe(0);
  });

  test('reports the fault that ended it, and the next check goes on there, and reports that', async () => {
    const { backend, scrub, reads, catalog } = await stored();
    // The progress after a page of it.
    catalog.replicas.recordProgress('s3', 'check 1/1', 12);
    backend.before = (operation) => {
      if (operation === 'get') throw refusal('s3');
    };
    expect(await scrub.check({ index: 1, of: 1 }, () => {}, NEVER)).toMatchObject({
      fault: 'The s3 store refuses.',
    });
    backend.before = () => {};
    reads();
    const totals: (number | null)[] = [];
    const told = ({ step, total }: CheckProgress) => void (step === 'reading' && totals.push(total));
    const next = await scrub.check({ index: 1, of: 1 }, told, NEVER);
    expect(next).toMatchObject({ fault: null, damaged: 0, read: 18, isResumed: true });
    expect(reads()).toHaveLength(18);
    const whole = await scrub.check({ index: 1, of: 1 }, told, NEVER);
    expect(whole).toMatchObject({ read: 30, isResumed: false });
    // A share of 30 would be wrong of the 18.
    expect(totals).toEqual([null, 30]);
  });

  test('begins again when it was interrupted a month ago: what it read then proves little now', async () => {
    const { scrub, catalog, clock } = await stored();
    catalog.replicas.recordProgress('s3', 'check 1/1', 12);
    clock.wallMs += 30 * 86_400_000;
    const next = await scrub.check({ index: 1, of: 1 }, () => {}, NEVER);
    expect(next).toMatchObject({ read: 30, isResumed: false });
  });
});

describe('a blob that is recorded as lost, and that another archiver brings to a backend,', () => {
  const found = sampleBlob('lost and found', 77);
  const rotten = sampleBlob('lost and rotten', 77);
  const withheld = sampleBlob('lost and withheld', 77);
  const ofOther = sampleBlob('never looked for', 77);

  async function lost() {
    const scene = await stored();
    const { catalog, backend } = scene;
    const losses = [found, rotten, withheld].map((blob) => ({ ...nameOf(blob), upToHeight: 9, deadlineSeconds: 1 }));
    catalog.losses.record(losses.map((loss) => ({ ...loss, answers: [] })));
    const order = { archiver: 'me', publicReason: null, reason: 'an order', atMs: 1, purge: false };
    catalog.withheld.record([{ ...nameOf(withheld), ...order }], false);
    for (const blob of [found, withheld, ofOther]) backend.blobs.set(keyOf(blob), blob.bytes);
    backend.blobs.set(keyOf(rotten), new Uint8Array(77));
    return { ...scene, isLost: (blob: typeof found) => catalog.losses.find(nameOf(blob)) !== null };
  }

  test('is found by the listing of the next day, and its loss is revoked', async () => {
    const { isLost, reads, ...scene } = await lost();
    const { catalog } = scene;
    const daily = new DailyScrub(
      { days: 1 },
      { ...scene, blobs: scene, log: createLogger('silent', { write: () => {} }) },
    );
    expect(isLost(found)).toBe(true);
    await daily.slice(NEVER);
    expect(isLost(found)).toBe(false);
    expect(catalog.find(found.versionHash)).toMatchObject([{ state: 'stored', sizeBytes: 77 }]);
    expect(catalog.losses.takeRevoked()).toMatchObject([{ ...nameOf(found), because: 'bytes-turned-up' }]);
    // Other bytes end no loss. What is withheld, or was never looked for, is not read.
    expect([isLost(rotten), isLost(withheld)]).toEqual([true, true]);
    const asked = new Set(reads());
    expect(asked).toContain(`get ${keyOf(rotten)}`);
    for (const blob of [withheld, ofOther]) expect(asked).not.toContain(`get ${keyOf(blob)}`);
  });

  test('is found by a check, which counts it as unknown no more', async () => {
    const { isLost, replication, ...scene } = await lost();
    const [site] = replication.sites;
    if (site === undefined) throw new Error('There is no backend.');
    const check = () => blobScrub(siteHolding(site), scene).check(null, () => {}, NEVER);
    expect(await check()).toMatchObject({ listed: 33, unknown: 2, fault: null });
    expect(isLost(found)).toBe(false);
  });

  test('stays lost while the backend lists it and does not give it', async () => {
    const { backend, isLost, scrub } = await lost();
    backend.before = (operation, name) => {
      if (operation === 'get' && name !== null && keyOf(name) === keyOf(found)) throw refusal('s3', 'storage/archived');
    };
    expect(await scrub.check(null, () => {}, NEVER)).toMatchObject({ listed: 33, unknown: 3, fault: null });
    expect(isLost(found)).toBe(true);
    backend.before = () => {};
    await scrub.check(null, () => {}, NEVER);
    expect(isLost(found)).toBe(false);
  });
});

test('the daily part reads so much that everything is read in as many days, and begins again at the end', async () => {
  const { scrub, reads } = await stored();
  const days: string[][] = [];
  for (let day = 0; day < 3; day += 1) {
    await scrub.slice(3, NEVER);
    days.push(reads());
  }
  expect(days.map(({ length }) => length)).toEqual([10, 10, 10]);
  expect(new Set(days.flat()).size).toBe(30);
  await scrub.slice(3, NEVER);
  await scrub.slice(3, NEVER);
  expect(new Set(reads()).size).toBeGreaterThanOrEqual(10);
});

test('a copy that is found damaged after a check has read it, and before that is recorded, is not called good', async () => {
  const { backend, scrub, damage, catalog } = await stored();
  const [first] = BLOBS;
  if (first === undefined) throw new Error('There are no blobs.');
  let reads = 0;
  backend.before = (operation) => {
    if (operation !== 'get') return;
    reads += 1;
    if (reads === BLOBS.length) damage.report('s3', nameOf(first));
  };
  await scrub.check({ index: 1, of: 1 }, () => {}, NEVER);
  expect(reads).toBe(BLOBS.length);
  expect(catalog.totals()).toMatchObject({ stored: BLOBS.length - 1 });
  expect(catalog.replicas.damagedCount('s3')).toBe(1);
});

test('copies of a backend that is found to be the place of another one, while a check reads there, do not count', async () => {
  const { backend, scrub, replication, catalog } = await stored();
  const [site] = replication.sites;
  if (site === undefined) throw new Error('There is no backend.');
  backend.before = (operation) => {
    if (operation !== 'get' || !site.isAdmitted) return;
    site.isAdmitted = false;
    catalog.replicas.recordUnproven('s3', catalog.replicas.goodAfter('s3', 0, BLOBS.length));
  };
  expect(await scrub.slice(1, NEVER)).toMatchObject({ read: 30, fault: null });
  expect([catalog.replicas.goodCount('s3'), catalog.totals().stored]).toEqual([0, 0]);
});

test('a backend that may not be listed has its daily part read, and that its listing was not compared is told', async () => {
  const { backend, reads, ...scene } = await stored();
  backend.before = (operation) => {
    if (operation === 'list') throw refusal('s3', 'storage/denied');
  };
  const log = createLogger('silent', { write: () => {} });
  const daily = new DailyScrub({ days: 1 }, { ...scene, blobs: scene, log });
  await expect(daily.slice(NEVER)).rejects.toThrow('What s3 holds could not be compared with the catalog');
  expect(scene.conditions.standing()).toMatchObject([{ subject: 'scrub', blocksReadiness: false }]);
  expect(reads()).toHaveLength(BLOBS.length);
  backend.before = () => {};
  await daily.slice(NEVER);
  expect(scene.conditions.has('scrub')).toBe(false);
});

test('a scrub that is repeated within its day reads no further, and lists again only what it could not list', async () => {
  const { backend, ...scene } = await stored();
  backend.before = (operation) => {
    if (operation === 'list') throw refusal('s3', 'storage/denied');
  };
  const asked = () => backend.asked.splice(0).map((one) => one.split(' ')[0]);
  const daily = new DailyScrub(
    { days: 6 },
    { ...scene, blobs: scene, log: createLogger('silent', { write: () => {} }) },
  );
  await expect(daily.slice(NEVER)).rejects.toThrow('What s3 holds');
  expect(asked().filter((one) => one === 'get')).toHaveLength(5);
  await expect(daily.slice(NEVER, true)).rejects.toThrow('What s3 holds');
  expect(asked()).not.toContain('get');
  backend.before = () => {};
  await daily.slice(NEVER, true);
  expect(asked()).not.toContain('get');
  await daily.slice(NEVER, true);
  expect(asked()).toEqual([]);
  await daily.slice(NEVER);
  expect(asked().filter((one) => one === 'get')).toHaveLength(5);
});

test('a repeat within the day reads only the copies that could not be looked at, and its success ends the condition', async () => {
  const { backend, reads, ...scene } = await stored();
  const unread = new Set(BLOBS.slice(0, 3).map(keyOf));
  backend.before = (operation, name) => {
    if (operation === 'get' && name !== null && unread.has(keyOf(name))) throw refusal('s3', 'storage/archived');
  };
  const log = createLogger('silent', { write: () => {} });
  const daily = new DailyScrub({ days: 6 }, { ...scene, blobs: scene, log });
  await expect(daily.slice(NEVER)).rejects.toThrow('could not be looked at');
  unread.delete(at(0));
  reads();
  await expect(daily.slice(NEVER, true)).rejects.toThrow('could not be looked at');
  expect(reads()).toContain(`get ${at(0)}`);
  backend.before = () => {};
  await daily.slice(NEVER, true);
  expect(scene.conditions.has('scrub')).toBe(false);
  expect(new Set(reads())).toEqual(new Set([`get ${at(1)}`, `get ${at(2)}`]));
  await daily.slice(NEVER, true);
  expect(reads()).toEqual([]);
  // The repeats moved nothing on: the next day reads the next part.
  await daily.slice(NEVER);
  expect(new Set(reads())).toEqual(new Set([5, 6, 7, 8, 9].map((index) => `get ${at(index)}`)));
});

test('a scrub that gives a place up reads there no more, and records what it was reading', async () => {
  const { backend, scrub, spool, replication, catalog, reads, clock } = await stored();
  for (let index = 0; index < 30; index += 1) await spool(sampleBlob(`behind ${index}`, 90));
  await replication.drain(['s3'], NEVER);
  reads();
  const slow = BLOBS[2] ?? sampleBlob('', 0);
  backend.before = async (operation, name) => {
    if (operation !== 'get' || name === null) return;
    if (keyOf(name) !== keyOf(slow)) throw refusal('s3', 'storage/archived');
    await turns();
  };
  clock.wallMs += 86_400_000;
  await expect(scrub.slice(1, NEVER)).rejects.toMatchObject({ code: 'storage/archived' });
  reads();
  await turns();
  expect(reads()).toEqual([]);
  const copies = catalog.find(slow.versionHash).flatMap((entry) => catalog.placementsOf(entry));
  expect(copies.find((one) => one.backend === 's3')).toMatchObject({ verifiedMs: clock.wallMs });
});

test('in so many days everything is read once, whatever restarts come between, and each day no more than its part', async () => {
  const { backend, reads, catalog, folder } = await stored();
  catalog.close();
  const days: string[][] = [];
  for (let day = 0; day < 7; day += 1) {
    const process = await opened(backend, folder);
    reads();
    await process.scrub.slice(7, NEVER);
    days.push(reads());
    process.catalog.close();
  }
  expect(days.map(({ length }) => length)).toEqual([5, 5, 5, 5, 5, 5, 0]);
  expect(days.flat().toSorted()).toEqual(BLOBS.map((blob) => `get ${keyOf(blob)}`).toSorted());
});

test('days that find much damaged read no less than others: the round takes no longer', async () => {
  const { backend, scrub, reads } = await stored();
  for (const blob of BLOBS.slice(0, 15)) backend.blobs.delete(keyOf(blob));
  for (let day = 0; day < 3; day += 1) await scrub.slice(3, NEVER);
  expect(new Set(reads())).toEqual(new Set(BLOBS.map((blob) => `get ${keyOf(blob)}`)));
});

test('a day that a stop or a fault cut short loses nothing: the next one begins where that one did', async () => {
  const { backend, reads, catalog, folder } = await stored();
  catalog.close();
  const before = await opened(backend, folder);
  await before.scrub.slice(3, NEVER);
  const first = reads();
  let left = 4;
  backend.before = (operation) => {
    if (operation !== 'get') return;
    left -= 1;
    if (left < 0) throw refusal('s3');
  };
  await expect(before.scrub.slice(3, NEVER)).rejects.toMatchObject({ code: 'storage/unreachable' });
  before.catalog.close();
  backend.before = () => {};
  reads();
  const after = await opened(backend, folder);
  for (let day = 0; day < 2; day += 1) await after.scrub.slice(3, NEVER);
  expect(new Set([...first, ...reads()]).size).toBe(BLOBS.length);
});

test('days whose copies a bucket keeps where it cannot be read are passed over and told, and the next ones are read', async () => {
  const { backend, scrub } = await stored();
  const archived = new Set(BLOBS.slice(0, 6).map(keyOf));
  backend.before = (operation, name) => {
    if (operation === 'get' && name !== null && archived.has(keyOf(name))) throw refusal('s3', 'storage/archived');
  };
  const days = [await scrub.slice(10, NEVER), await scrub.slice(10, NEVER), await scrub.slice(10, NEVER)];
  const told = expect.stringContaining('could not be looked at');
  expect(days).toMatchObject([
    { read: 0, fault: told },
    { read: 0, fault: told },
    { read: 3, fault: null },
  ]);
});

describe('a bucket that keeps its oldest copies where they cannot be read, more than a page holds,', () => {
  async function archived() {
    const scene = await stored();
    const { backend, replication, spool } = scene;
    const behind = Array.from({ length: 30 }, (_, index) => sampleBlob(`behind ${index}`, 90));
    for (const blob of behind) await spool(blob);
    await replication.drain(['s3'], NEVER);
    const old = new Set(BLOBS.map(keyOf));
    backend.before = (operation, name) => {
      if (operation === 'get' && name !== null && old.has(keyOf(name))) throw refusal('s3', 'storage/archived');
    };
    scene.reads();
    const told = `keccak256 ${BLOBS[0]?.versionHash} and 29 other copies could not be looked at: The s3 store refuses.`;
    return { ...scene, behind, told };
  }

  test('has them passed over and counted, and the copies behind them read', async () => {
    const { scrub, backend, told } = await archived();
    const day = await scrub.slice(1, NEVER);
    expect(day).toMatchObject({ read: 30, fault: told });
    expect(day.unread).toHaveLength(30);
    expect(await scrub.readAgain(day.unread, NEVER)).toMatchObject({ read: 0, fault: told });
    backend.before = () => {};
    expect(await scrub.readAgain(day.unread, NEVER)).toMatchObject({ read: 30, fault: null, unread: [] });
  });

  test('keeps no day that follows from its part', async () => {
    const { scrub, reads, behind } = await archived();
    await scrub.slice(2, NEVER);
    reads();
    expect(await scrub.slice(2, NEVER)).toMatchObject({ read: 30, fault: null });
    expect(new Set(reads())).toEqual(new Set(behind.map((blob) => `get ${keyOf(blob)}`)));
  });

  test('ends no check of everything', async () => {
    const { scrub, told } = await archived();
    expect(await scrub.check({ index: 1, of: 1 }, () => {}, NEVER)).toMatchObject({ read: 30, fault: told });
  });
});

test('a check repairs nothing that it has not found: a good copy elsewhere stays as it is', async () => {
  const { backend, scrub, replication, catalog } = await stored();
  backend.blobs.delete(at(0));
  await scrub.check(null, () => {}, NEVER);
  await replication.drain(['s3'], NEVER);
  expect(backend.blobs.get(at(0))).toEqual(BLOBS[0]?.bytes);
  expect(catalog.find(nameOf(BLOBS[0] ?? sampleBlob('', 0)).versionHash)).toMatchObject([{ state: 'stored' }]);
});
