import { createHash } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { LossJudge } from '../../src/chain/loss-judge.ts';
import { LossRule } from '../../src/chain/loss-rule.ts';
import { LossSearch, type RescueSource } from '../../src/chain/loss-search.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../src/core/blob/limits.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { type Clock, SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { HandClock, openCatalog, sighting, spooled } from '../catalog/catalog-in-folder.ts';
import { eventually } from '../e2e/eventually.ts';
import { sampleBlob } from '../sample-blobs.ts';

const hex = (label: string) => createHash('sha256').update(label).digest('hex');
const MINED_SECONDS = 1_767_000_000;

/** A catalog in which one blob is recorded as lost, and others are overdue, which were known when their block came or days later. */
function catalogAfterALoss(overdue: readonly string[], isKnownInTime: boolean) {
  const clock = new HandClock();
  if (isKnownInTime) clock.ms = MINED_SECONDS * 1_000;
  const catalog = openCatalog({ clock });
  catalog.chain.recordStart(100);
  const hash = parseBlockHash(hex('block 100'));
  const occurrence = (label: string, transactionIndex: number) => {
    const { versionHash } = sighting(label);
    const txid = parseTxId(hex(`${label} txid`));
    return { versionHash, hashType: 'keccak256', txid, vout: 0, transactionIndex, makeRecord: () => '{}' } as const;
  };
  const occurrences = ['lost', ...overdue].map((label, index) => occurrence(label, index + 1));
  const times = { timeSeconds: MINED_SECONDS, medianTimeSeconds: MINED_SECONDS };
  const block = {
    height: 100,
    hash,
    previousHash: parseBlockHash(hex('block 99')),
    ...times,
    occurrences,
    unclear: [],
  };
  catalog.chain.recordBlocks([block], () => false);
  const { versionHash } = sighting('lost');
  const deadlineSeconds = MINED_SECONDS + RETENTION_SECONDS;
  catalog.losses.record([{ hashType: 'keccak256', versionHash, upToHeight: 100, deadlineSeconds, answers: [] }]);
  return { catalog, hash };
}

/** Parts of a judge instead of a place that answers nothing yet, a data folder that has told everything, and no peer. */
interface Given {
  readonly find?: RescueSource['find'];
  readonly peers?: RescueSource[];
  readonly isTakenOver?: boolean;
  readonly isIndexed?: boolean;
  readonly isKnownInTime?: boolean;
  readonly isListed?: () => boolean;
  readonly overdue?: readonly string[];
  readonly verify?: () => Promise<VerifiedBlob>;
  readonly spool?: () => Promise<void>;
  readonly clock?: Clock;
}

/** A judge over that catalog; it runs until the end of the test. */
function judging(isListCurrent: () => boolean, given: Given = {}) {
  const { catalog, hash } = catalogAfterALoss(given.overdue ?? ['overdue'], given.isKnownInTime ?? false);
  if (given.isTakenOver ?? true) catalog.evidence.recordTakenOver();
  const rebuild = { isIndexed: given.isIndexed ?? true };
  const asked = Promise.withResolvers<void>();
  const silent = Promise.withResolvers<null>();
  const changes = new Notifier();
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => undefined }), SYSTEM_CLOCK.wallMs);
  const unused = () => Promise.reject(new Error('Nobody gave bytes.'));
  const poller = {
    state: {
      genesis: null,
      tip: { height: 100, hash, medianTimeSeconds: MINED_SECONDS + 2 * RETENTION_SECONDS, syncing: false },
      lastAnswerMs: null,
      sweptMs: null,
      entries: null,
    },
    isListCurrent,
    isListed: given.isListed ?? (() => false),
  };
  const place: RescueSource = {
    name: 'store silent',
    find:
      given.find ??
      (() => {
        asked.resolve();
        return silent.promise;
      }),
  };
  const search = new LossSearch({
    sources: [place, ...(given.peers ?? [])],
    nodes: [],
    verifier: { verify: given.verify ?? unused },
    held: { copyOf: () => null },
    conditions,
    clock: SYSTEM_CLOCK,
  });
  const judge = new LossJudge(
    {
      catalog,
      rule: new LossRule(catalog, poller, { isWalked: true }, { emit: () => true }, rebuild),
      search,
      spooler: { spool: given.spool ?? unused },
      conditions,
      clock: given.clock ?? SYSTEM_CLOCK,
    },
    changes,
  );
  const ending = new AbortController();
  const running = judge.run(ending.signal);
  onTestFinished(async () => {
    ending.abort();
    silent.resolve(null);
    await running;
  });
  return { catalog, asked: asked.promise, answer: () => silent.resolve(null), changes, conditions, judge, rebuild };
}

test('a recorded loss stands before anybody has answered, so that no start calls it over', async () => {
  const { asked, conditions } = judging(() => true);
  await asked;
  expect(conditions.standing()).toMatchObject([{ code: 'chain/overdue' }, { code: 'chain/lost', amount: 1 }]);
});

test('a blob past its deadline is told of with the sources that did not answer, until it is here', async () => {
  const peer = (name: string, answer: RescueSource['find']) => ({ name, sourceName: name, find: answer });
  const { catalog, changes, conditions } = judging(() => true, {
    find: () => Promise.reject(new Error('The disk is away.')),
    peers: [
      peer('peer rome', () => Promise.resolve(null)),
      peer('peer berlin', () => Promise.reject(new Error('That archive withholds the blob (451).'))),
    ],
  });
  const overdue = () => conditions.standing().find(({ subject }) => subject === 'overdue');
  const { versionHash } = sighting('overdue');
  const silent = 'store silent: The disk is away; peer berlin: That archive withholds the blob (451).';
  await eventually(() => expect(overdue()?.message).toContain(`${versionHash}. These sources`));
  expect(overdue()).toMatchObject({ severity: 'critical', blocksReadiness: false });
  expect(overdue()?.message).toMatch(/^1 blobs on chain are not here/);
  expect(overdue()?.message.endsWith(`did not answer for it: ${silent}`)).toBe(true);
  catalog.recordSpooled([spooled('overdue')]);
  changes.notify();
  await eventually(() => expect(overdue()).toBeUndefined());
});

test('a blob past its deadline is told of also while it may not be judged, and never once it is lost', async () => {
  let isListCurrent = false;
  const { changes, conditions } = judging(() => isListCurrent, { find: () => Promise.resolve(null) });
  const codes = () => conditions.standing().map(({ code }) => code);
  await eventually(() => expect(codes()).toEqual(['chain/overdue', 'chain/lost']));
  isListCurrent = true;
  changes.notify();
  await eventually(() => expect(codes()).toEqual(['chain/lost']));
  expect(conditions.standing()).toMatchObject([{ amount: 2 }]);
});

test.each([
  ['index', false],
  ['evidence', false],
  ['index', true],
  ['evidence', true],
])(
  'until the %s of a new catalog is whole, a blob is overdue only if it was known in time: %s',
  async (awaited, isKnownInTime) => {
    const { catalog, conditions, judge, rebuild } = judging(() => false, {
      isIndexed: awaited !== 'index',
      isTakenOver: awaited !== 'evidence',
      isKnownInTime,
    });
    const overdue = () => {
      judge.tellOverdue();
      const told = conditions.standing().filter(({ code }) => code === 'chain/overdue');
      const counted = catalog.figures.overdue(MINED_SECONDS + 2 * RETENTION_SECONDS, judge.toldOverdue);
      return [told.map(({ amount }) => amount), counted];
    };
    expect(overdue()).toEqual(isKnownInTime ? [[1], 1] : [[], 0]);
    rebuild.isIndexed = true;
    catalog.evidence.recordTakenOver();
    expect(overdue()).toEqual([[1], 1]);
  },
);

test.each(['kept as custom bytes', 'listed again'])(
  'sources that did not answer for a blob that is %s are told no more',
  async (what) => {
    let isListed = false;
    const { catalog, conditions, judge } = judging(() => true, {
      find: () => Promise.reject(new Error('The disk is away.')),
      overdue: ['overdue', 'another'],
      isListed: () => isListed,
    });
    const message = () => conditions.standing().find(({ code }) => code === 'chain/overdue')?.message ?? '';
    const named = () => /keccak256 ([0-9a-f]{64})\. These/.exec(message())?.[1];
    await eventually(() => expect(named()).toBeDefined());
    expect(conditions.standing()).toMatchObject([{ code: 'chain/overdue', amount: 2 }, {}]);
    if (what === 'listed again') isListed = true;
    else {
      const versionHash = parseVersionHash(named() ?? '');
      catalog.custom.record({ versionHash, keccak: versionHash }, 9, 'local');
    }
    judge.tellOverdue();
    expect(named()).toBeUndefined();
    expect(message()).toContain('Holdfast has still to ask for it.');
  },
);

test('a blob that comes from elsewhere while the sources answer is not lost', async () => {
  const { catalog, asked, answer, conditions } = judging(() => true);
  await asked;
  // An import or the fetcher brings them: the judge is still waiting for the answer that they are not there.
  catalog.recordSpooled([spooled('overdue'), spooled('lost')]);
  answer();
  await eventually(() => expect(conditions.standing()).toEqual([]));
  expect([catalog.losses.count(), catalog.losses.overdue(Number.MAX_SAFE_INTEGER, 9)]).toEqual([0, []]);
});

test('a loss is recorded when its sources have answered, before those of the next blob have', async () => {
  const next = Promise.withResolvers<void>();
  const silent = Promise.withResolvers<null>();
  let asked = 0;
  const find = () => {
    asked += 1;
    if (asked === 1) return Promise.resolve(null);
    next.resolve();
    return silent.promise;
  };
  const { catalog } = judging(() => true, { find, overdue: ['overdue', 'another'] });
  onTestFinished(() => silent.resolve(null));
  await next.promise;
  expect(catalog.losses.count()).toBe(2);
});

test('a blob that waits for room for hours keeps the judge from no question after that', async () => {
  let steadyMs = 0;
  const again = Promise.withResolvers<void>();
  const find = () => Promise.resolve(sampleBlob('found', 70));
  const verify = find;
  const spool = () => {
    if (steadyMs > 0) again.resolve();
    steadyMs += 5 * 3_600_000;
    return Promise.resolve();
  };
  judging(() => true, { find, verify, spool, clock: { ...SYSTEM_CLOCK, steadyMs: () => steadyMs } });
  await expect(again.promise).resolves.toBeUndefined();
});

test.each([
  { what: 'a list names it again', isListed: true, isListCurrent: true },
  { what: 'the list is out of date', isListed: false, isListCurrent: false },
])('a blob is not lost when $what while the sources answer', async (then) => {
  let hasAnswered = false;
  const asked = Promise.withResolvers<void>();
  const since = (now: boolean, before: boolean) => {
    if (hasAnswered) asked.resolve();
    return hasAnswered ? now : before;
  };
  const find = () => {
    hasAnswered = true;
    return Promise.resolve(null);
  };
  const isListed = () => since(then.isListed, false);
  const { catalog } = judging(() => since(then.isListCurrent, true), { find, isListed });
  await asked.promise;
  // The rule was asked last; the judge records in the same turn, or never.
  expect(catalog.losses.count()).toBe(1);
});

/** One for what is overdue, and one for what is recorded. */
const LOOKS_OF_A_STEP = 2;

test('the judge asks as soon as the list of the node is current, and not at its next look', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const looked = Promise.withResolvers<void>();
  const { asked, changes } = judging(() => {
    looks += 1;
    if (looks === LOOKS_OF_A_STEP) looked.resolve();
    return looks > LOOKS_OF_A_STEP;
  });
  await looked.promise;
  changes.notify();
  await asked;
});

test('a place that does not answer keeps no peer from being asked', async () => {
  const answered = Promise.withResolvers<void>();
  const peer = {
    name: 'peer',
    find: () => {
      answered.resolve();
      return Promise.resolve(null);
    },
  };
  judging(() => true, { find: () => Promise.reject(new Error('EIO')), peers: [peer] });
  await expect(answered.promise).resolves.toBeUndefined();
});

test('the judge asks no source before the data folder has told what a rule left out, and then at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const { asked, catalog, changes } = judging(
    () => {
      looks += 1;
      return true;
    },
    { isTakenOver: false },
  );
  changes.notify();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks).toBe(0);
  catalog.evidence.recordTakenOver();
  await asked;
});

test('a source that does not answer keeps no blob behind the oldest from the peer that has it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const labels = Array.from({ length: 100 }, (_, index) => `overdue ${index}`);
  const oldestFirst = labels.map((label) => sighting(label).versionHash).sort();
  let [questions, sleptMs, saved] = [0, 0, 0];
  const answering = (answer: RescueSource['find']): RescueSource['find'] => {
    return (...question) => {
      questions += 1;
      return answer(...question);
    };
  };
  const blob = sampleBlob('found', 70);
  const had = answering(({ versionHash }) => Promise.resolve(versionHash === oldestFirst[89] ? blob : null));
  judging(() => true, {
    overdue: labels,
    find: answering(() => Promise.reject(new Error('It is away.'))),
    peers: [{ name: 'peer', find: had }],
    verify: () => Promise.resolve(blob),
    spool: () => {
      saved += 1;
      return Promise.resolve();
    },
    clock: { ...SYSTEM_CLOCK, steadyMs: () => 2_000 * questions + sleptMs },
  });
  // Six pauses of at most ten minutes are between the groups.
  for (let minutes = 0; minutes < 60 && saved === 0; minutes += 1) {
    sleptMs += 60_000;
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(saved).toBe(1);
});

test('an overdue blob for which a source hangs keeps no new peer from being asked for a recorded loss', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const lost = sighting('lost').versionHash;
  let [questions, sleptMs, askedForLoss] = [0, 0, 0];
  judging(() => true, {
    find: () => {
      questions += 1;
      return Promise.reject(new Error('It hangs.'));
    },
    peers: [
      {
        name: 'new peer',
        find: ({ versionHash }) => {
          askedForLoss += Number(versionHash === lost);
          return Promise.resolve(null);
        },
      },
    ],
    clock: { ...SYSTEM_CLOCK, steadyMs: () => 60_000 * questions + sleptMs },
  });
  for (let minutes = 0; minutes < 30 && askedForLoss === 0; minutes += 1) {
    sleptMs += 60_000;
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(askedForLoss).toBe(1);
});
