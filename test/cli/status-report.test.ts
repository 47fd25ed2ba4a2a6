import { expect, test } from 'vitest';
import { showStatusReport, standingOf, statusReport } from '../../src/cli/status-report.ts';
import { HEALTHY } from '../http/fake-archive-view.ts';

const WARNING = {
  code: 'clock/wrong',
  severity: 'warning',
  message: 'The clock of this machine is 40 min ahead.',
  hint: 'Set it.',
  since: '2026-01-01T00:00:00.000Z',
  blocksReadiness: false,
};
const LATE = { ...WARNING, code: 'chain/at-risk-50', severity: 'critical', message: '54 blobs are not here.' };

const SCREEN = { address: 'http://127.0.0.1:8080', jobs: [], nowMs: Date.parse('2026-01-01T03:00:00.000Z') };
const reportOf = (facts: object) => statusReport.parse({ ...HEALTHY, ...facts });

function lines(facts: object, screen: object = {}): string[] {
  return showStatusReport(reportOf(facts), { ...SCREEN, ...screen });
}
const { node, chain, content } = HEALTHY;

test.each([
  ['all is well', 'safe', {}, 'Nothing is at risk.'],
  ['only a warning', 'safe', { conditions: [WARNING] }, 'Nothing is at risk; 1 condition to look at.'],
  [
    'blobs at risk, with a warning beside them',
    'danger',
    { content: { ...content, atRisk: 54 }, smallestSlackSeconds: 7_800, conditions: [LATE, WARNING] },
    'AT RISK: 54 blobs are on chain and not durable here; the node may prune the most urgent one in 2 h 10 min.',
  ],
  [
    'a blob at risk whose time is over',
    'danger',
    { content: { ...content, atRisk: 1 }, smallestSlackSeconds: -5 },
    'AT RISK: 1 blob is on chain and not durable here; the node may have pruned the most urgent one already.',
  ],
  [
    'no good copy of a blob is left',
    'danger',
    { conditions: [{ ...LATE, code: 'archive/no-good-copy', message: 'No good copy of x is left.' }] },
    'CRITICAL: No good copy of x is left.',
  ],
  [
    'the node is away',
    'unknown',
    { node: { ...node, reachable: false } },
    'CANNOT TELL whether anything is at risk: the node does not answer.',
  ],
  [
    'the walk is behind',
    'unknown',
    { chain: { ...chain, lagBlocks: 1_200 } },
    'CANNOT TELL whether anything is at risk: the chain is not walked to its end, 1,200 blocks behind the node.',
  ],
  [
    'no tip is known',
    'unknown',
    { content: { ...content, atRisk: null } },
    'CANNOT TELL whether anything is at risk: the chain is not walked to its end.',
  ],
  [
    'a condition blocks readiness',
    'unknown',
    { conditions: [{ ...WARNING, severity: 'error', blocksReadiness: true }] },
    'NOT READY: The clock of this machine is 40 min ahead.',
  ],
  ['blobs were lost', 'danger', { chain: { ...chain, lost: 2 } }, 'Nothing more is at risk; 2 blobs are LOST.'],
] as const)('the first line is the verdict, and --check goes by it: %s is %s', (_name, standing, facts, verdict) => {
  expect(lines(facts)[0]).toBe(verdict);
  expect(standingOf(reportOf(facts))).toBe(standing);
});

test('--check tells of a loss also while the node is away, though the verdict then is unknown', () => {
  const facts = { node: { ...node, reachable: false }, chain: { ...chain, lost: 1 } };
  expect(lines(facts)[0]).toMatch(/^CANNOT TELL/);
  expect(standingOf(reportOf(facts))).toBe('danger');
});

test('blobs past their deadline stand beside the number of those at risk', () => {
  const overdue = { ...LATE, code: 'chain/overdue', message: '2 blobs are not here.' };
  const shown = lines({ content: { ...content, atRisk: 0 }, conditions: [overdue] });
  expect(shown[0]).toBe('CRITICAL: 2 blobs are not here.');
  expect(shown).toContain('at risk  0, and others past their deadline');
});

const ENDED_AT = '2026-01-01T02:00:00.000Z';

test('node, walk, finality, window, backends, lost and withheld each have a line, and conditions keep their order', () => {
  const shown = lines({
    node: { ...node, height: 1_300 },
    chain: { ...chain, height: 1_299, lagBlocks: 1, finalHeight: 1_295, finality: 'chainlock', lost: 3 },
    content: { seen: 4, spooled: 5, stored: 6, storedBytes: 2_048, failing: 1, atRisk: 0 },
    backends: [
      { id: 'local', state: 'good', queued: 0, oldestQueuedSeconds: null, damaged: 0, freeBytes: 40 * 2 ** 30 },
      { id: 's3', state: 'left-alone', queued: 54, oldestQueuedSeconds: 1_800, damaged: 2, freeBytes: null },
    ],
    local: { mode: 'cache', bytes: 3 * 2 ** 30, budgetBytes: 10 * 2 ** 30, freeBytes: 40 * 2 ** 30 },
    peers: [
      {
        ...{ name: 'archive https://a.example', state: 'left-alone', leftAloneUntil: ENDED_AT },
        ...{ gave: 9, gaveBytes: 4_096, wrongBytes: 1 },
      },
      { name: 'bucket b', state: 'silent', gave: 0, gaveBytes: 0, wrongBytes: 0 },
      {
        ...{ name: 'folder /old', state: 'good', gave: 0, gaveBytes: 0, wrongBytes: 0 },
        compared: { extent: 'whole', onlyHere: 2, onlyThere: 1 },
        audited: { samples: 8, outcomes: { good: 7 } },
      },
      {
        ...{ name: 'peer c', state: 'good', gave: 0, gaveBytes: 0, wrongBytes: 0 },
        compared: { extent: 'partial', onlyHere: 2, onlyThere: 8 },
      },
      {
        ...{ name: 'peer d', state: 'good', gave: 0, gaveBytes: 0, wrongBytes: 0 },
        compared: { extent: 'none', onlyHere: 0, onlyThere: 0 },
      },
    ],
    withheld: { count: 7 },
    smallestSlackSeconds: 12_000,
    conditions: [LATE, WARNING],
  });
  const expected = [
    /^node .*reachable, height 1300$/,
    /^walked +to height 1299, 1 block behind the node$/,
    /^final +to height 1295 \(chainlock\)$/,
    /^stored +6 blobs, 2\.0 KiB$/,
    /^spooled +5 /,
    /^seen +4 .*1 failed/,
    /^at risk +0$/,
    /^slack +3 h 20 min until/,
    /^local +\| in use +\| +0 \| +- \| +0 \| +40\.0 GiB$/,
    /^s3 +\| NOT IN USE: .* \| +54 \| +30 min \| +2 \| +not known$/,
    /^disk +40\.0 GiB free; the data folder caches 3\.0 GiB of at most 10\.0 GiB$/,
    /^archive https:\/\/a\.example +\| LEFT ALONE until 2026-01-01T02:00:00\.000Z +\| 9 \(4\.0 KiB\) \| +1 WRONG \| +- \| -$/,
    /^bucket b +\| DOES NOT ANSWER +\| +0 \(0 B\) /,
    /^folder \/old +\| answers +\| .* \| +7 of 8 \| 1 only there, 2 only here$/,
    /^peer c .* \| ENDED EARLY: at least 8 only there, 2 only here$/,
    /^peer d .* \| NOT COMPARABLE: no block in common$/,
    /^lost +3$/,
    /^withheld 7$/,
  ];
  for (const line of expected) expect(shown).toEqual(expect.arrayContaining([expect.stringMatching(line)]));
  expect(shown.filter((line) => line.startsWith('! '))).toEqual([
    '! critical: 54 blobs are not here. (chain/at-risk-50)',
    '! warning: The clock of this machine is 40 min ahead. (clock/wrong)',
  ]);
});

const JOB = { outcome: null, failure: null, endedAt: null };

test.each([
  ['they are not shown', null, ['jobs     not shown: they take the local socket, or a token of an operator']],
  ['none was begun', [], ['jobs     none since the start']],
  [
    'the newest of each kind',
    [
      { ...JOB, kind: 'check', state: 'done', startedAt: ENDED_AT, endedAt: ENDED_AT, outcome: { exitCode: 0 } },
      { ...JOB, kind: 'backfill', state: 'running', startedAt: '2026-01-01T02:50:00.000Z' },
      { ...JOB, kind: 'check', state: 'done', startedAt: ENDED_AT, endedAt: ENDED_AT, outcome: { exitCode: 3 } },
      {
        ...JOB,
        kind: 'rebuild',
        state: 'failed',
        startedAt: ENDED_AT,
        endedAt: ENDED_AT,
        failure: { message: 'Full.' },
      },
    ],
    [
      'job      | state  |       when | exit code',
      '-------- | ------ | ---------: | --------:',
      'check    | done   | 60 min ago |         3',
      'backfill | runs   | for 10 min |         -',
      'rebuild  | failed | 60 min ago |         -',
      '! rebuild: Full.',
    ],
  ],
])('the screen tells of jobs where %s', (_name, jobs, expected) => {
  const shown = lines({}, { jobs });
  expect(shown.slice(shown.findIndex((line) => line.startsWith('job')))).toEqual(expected);
});

test('a data folder that keeps all has no budget, and a system that does not say what is free is not guessed for', () => {
  const shown = lines({ local: { mode: 'keep', bytes: 2_048, budgetBytes: 9, freeBytes: null } });
  expect(shown).toContain('disk     cannot tell how much is free; the data folder keeps 2.0 KiB');
});

test('a rule has a line while it is in force or has left something out', () => {
  const of = (archiveRule: object) => lines({ archiveRule }).filter((line) => line.startsWith('by rule'));
  const says = 'Only blobs of at most 1000 bytes are archived.';
  const since = '2026-01-01T02:00:00.000Z';
  expect(of({ says: null, notArchived: 0, since: null })).toEqual([]);
  expect(of({ says, notArchived: 0, since: null })).toEqual([`by rule  0 blobs not archived. ${says}`]);
  expect(of({ says, notArchived: 7, since })).toEqual([`by rule  7 blobs not archived since ${since}. ${says}`]);
  expect(of({ says: null, notArchived: 1, since })).toEqual([
    `by rule  1 blob not archived since ${since}. No rule is in force now.`,
  ]);
});
