import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { COPIED } from '../../src/catalog/copy-table.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { LONGEST_SLEEP_MS } from '../../src/core/time/run-loop.ts';
import { HandClock, openCatalog, sighting, spooled } from './catalog-in-folder.ts';
import { BACKENDS, someSteps, startTheWalk, steps } from './copy-steps.ts';

const END = 1_000_000;
const MOST = 1_000;

let mined = 0;

/** The other steps, which queue anything else or make it wait. */
const others: typeof steps = {
  list: (catalog, _, which) => void catalog.noteListed([sighting(which)]),
  listAnew: (catalog, _, which) => {
    const { versionHash } = sighting(which);
    catalog.recordFailures([{ versionHash, code: 'archive/absent-at-node', message: 'No.', nextAttemptMs: null }]);
    catalog.noteListed([sighting(which, { medianTimeSeconds: 1_767_000_100 })]);
  },
  mine: (catalog, _, which) => {
    mined += 1;
    const { txid } = sighting(which);
    const { hashType, versionHash } = spooled(which);
    const { tip } = catalog.chain.state;
    if (txid === null || tip === null) throw new TypeError('a sighting has a transaction, and the walk has begun');
    const hash = parseBlockHash(mined.toString(16).padStart(64, '0'));
    const height = tip.height + 1;
    const block = { height, hash, previousHash: tip.hash, timeSeconds: 1, medianTimeSeconds: 1_000 };
    const occurrence = { hashType, versionHash, txid, vout: 0, transactionIndex: 1, makeRecord: () => '{}' };
    catalog.chain.recordBlocks([{ ...block, occurrences: [occurrence], unclear: [] }], () => false);
    catalog.chain.recordFinal(height);
  },
  takeBack: (catalog) => {
    catalog.chain.takeBack(Math.max(1, (catalog.chain.state.tip?.height ?? 1) - 1));
  },
  evidence: (catalog, at, which) => catalog.evidence.put(`reports/${which}.json`, { at }),
  custom: (catalog, _, which) => catalog.custom.record(customOf(which), 9, 'local'),
  customDamaged: (catalog, _, which) => catalog.custom.recordDamaged(customOf(which), 'local'),
};
const all = { ...steps, ...others };

const customOf = (which: string) => ({
  versionHash: sighting(`custom ${which}`).versionHash,
  keccak: sighting(`keccak ${which}`).versionHash,
});

/** Counts what is due now for each loop, and how often that loop has been woken. */
function dueNow(catalog: Catalog) {
  const { replicas, copies } = catalog;
  const queues = BACKENDS.map((id) => {
    const due = [...replicas.due(id, MOST), ...replicas.dueAgain(id, MOST), ...replicas.dueDamaged(id, MOST)];
    const names = due.map(({ sequence, state }) => `${sequence} ${state}`);
    return { loop: id, names, wakeUps: replicas.changes(id).notifications };
  });
  const wanted = [...catalog.nextQueued(MOST, 'fresh'), ...catalog.nextQueued(MOST, 'failed')];
  const documents = {
    evidence: catalog.evidence.due('local', 0, MOST).map(({ sequence }) => String(sequence)),
    withdrawn: catalog.records.undeleted('local', 0, MOST).map(({ sequence }) => String(sequence)),
    record: catalog.records
      .due('local', { height: -1, transactionIndex: -1 }, END, MOST)
      .map((one) => `${one.height} ${one.blockHash}`),
    custom: catalog.custom.due('local', 'all', 0, MOST, false).map(({ sequence }) => String(sequence)),
  };
  return [
    ...queues,
    { loop: 'fetch', names: wanted.map((one) => one.versionHash), wakeUps: catalog.queueChanges.notifications },
    ...Object.entries(documents).map(([kind, names]) => {
      return { loop: kind, names, wakeUps: copies.changes(COPIED[kind as keyof typeof COPIED]).notifications };
    }),
  ];
}

test('each step that makes something due wakes its loop', () => {
  const catalog = openCatalog({ backends: BACKENDS, replicasRequired: 2 });
  startTheWalk(catalog);
  const woken = new Set<string>();
  const take = (name: string, at: string, which: string) => {
    const before = dueNow(catalog);
    all[name]?.(catalog, at, which);
    for (const [index, now] of dueNow(catalog).entries()) {
      const earlier = before[index];
      if (earlier === undefined || now.names.every((one) => earlier.names.includes(one))) continue;
      expect(now.wakeUps, `${name} leaves ${now.loop} asleep`).toBeGreaterThan(earlier.wakeUps);
      woken.add(now.loop);
    }
  };
  for (const name of Object.keys(all)) for (const at of BACKENDS) take(name, at, 'a');
  // Chance alone seldom puts a blob that is held into a block.
  for (const name of ['spool', 'mine']) take(name, 'local', 'held and mined');
  fc.assert(
    fc.property(someSteps(all), (chosen) => {
      for (const [name, at, which] of chosen) take(name, at, which);
    }),
    { numRuns: 60 },
  );
  expect([...woken].sort()).toEqual(['custom', 'evidence', 'fetch', 'ipfs', 'local', 'record', 's3', 'withdrawn']);
});

test('a loop sleeps until a failed entry is due, whichever way the clock is set meanwhile', () => {
  const clock = new HandClock();
  const catalog = openCatalog({ clock });
  const idleMs = (lookedMs = clock.ms) => [catalog.queueIdleMs(lookedMs), catalog.replicas.idleMs('local', lookedMs)];
  expect(idleMs()).toEqual([LONGEST_SLEEP_MS, LONGEST_SLEEP_MS]);
  const nextAttemptMs = clock.ms + 7_000;
  const why = { code: 'archive/unexpected', message: 'No.', nextAttemptMs };
  catalog.noteListed([sighting('a')]);
  catalog.recordFailures([{ versionHash: sighting('a').versionHash, ...why }]);
  catalog.recordSpooled([spooled('b')]);
  catalog.replicas.recordFailures('local', [{ sequence: 1, ...why }]);
  const isDue = () => [catalog.nextQueued(END).length, catalog.replicas.dueAgain('local', END).length];
  expect([idleMs(), isDue()]).toEqual([
    [7_000, 7_000],
    [0, 0],
  ]);
  clock.ms += 6_999;
  expect([idleMs(), isDue()]).toEqual([
    [1, 1],
    [0, 0],
  ]);
  clock.ms += 1;
  // The entry became due after the loop had looked, and before it asked.
  expect(idleMs(clock.ms - 1)).toEqual([1, 1]);
  expect([idleMs(), isDue()]).toEqual([
    [LONGEST_SLEEP_MS, LONGEST_SLEEP_MS],
    [1, 1],
  ]);
  // Set back by more than anything rests: it is tried, and no loop waits for the time of another clock.
  clock.ms -= 86_400_000;
  expect([idleMs(), isDue()]).toEqual([
    [LONGEST_SLEEP_MS, LONGEST_SLEEP_MS],
    [1, 1],
  ]);
});
