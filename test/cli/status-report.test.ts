import { expect, test } from 'vitest';
import { showStatusReport, statusReport } from '../../src/cli/status-report.ts';
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

function lines(facts: object): string[] {
  return showStatusReport(statusReport.parse({ ...HEALTHY, ...facts }), 'http://127.0.0.1:8080');
}
const { node, chain, content } = HEALTHY;

test.each([
  ['all is well', {}, 'Nothing is at risk.'],
  ['only a warning', { conditions: [WARNING] }, 'Nothing is at risk; 1 condition to look at.'],
  [
    'blobs at risk, with a warning beside them',
    { content: { ...content, atRisk: 54 }, smallestSlackSeconds: 7_800, conditions: [LATE, WARNING] },
    'AT RISK: 54 blobs are on chain and not durable here; the node may prune the most urgent one in 2 h 10 min.',
  ],
  [
    'a blob at risk whose time is over',
    { content: { ...content, atRisk: 1 }, smallestSlackSeconds: -5 },
    'AT RISK: 1 blob is on chain and not durable here; the node may have pruned the most urgent one already.',
  ],
  [
    'no good copy of a blob is left',
    { conditions: [{ ...LATE, code: 'archive/no-good-copy', message: 'No good copy of x is left.' }] },
    'CRITICAL: No good copy of x is left.',
  ],
  [
    'the node is away',
    { node: { ...node, reachable: false } },
    'CANNOT TELL whether anything is at risk: the node does not answer.',
  ],
  [
    'the walk is behind',
    { chain: { ...chain, lagBlocks: 1_200 } },
    'CANNOT TELL whether anything is at risk: the chain is not walked to its end, 1,200 blocks behind the node.',
  ],
  [
    'no tip is known',
    { content: { ...content, atRisk: null } },
    'CANNOT TELL whether anything is at risk: the chain is not walked to its end.',
  ],
  [
    'a condition blocks readiness',
    { conditions: [{ ...WARNING, severity: 'error', blocksReadiness: true }] },
    'NOT READY: The clock of this machine is 40 min ahead.',
  ],
  ['blobs were lost', { chain: { ...chain, lost: 2 } }, 'Nothing more is at risk; 2 blobs are LOST.'],
] as const)('the first line is the verdict: %s', (_name, facts, verdict) => {
  expect(lines(facts)[0]).toBe(verdict);
});

test('node, walk, finality, window, backends, lost and withheld each have a line, and conditions keep their order', () => {
  const shown = lines({
    node: { ...node, height: 1_300 },
    chain: { ...chain, height: 1_299, lagBlocks: 1, finalHeight: 1_295, finality: 'chainlock', lost: 3 },
    content: { seen: 4, spooled: 5, stored: 6, storedBytes: 2_048, failing: 1, atRisk: 0 },
    backends: [
      { id: 'local', state: 'good', queued: 0, damaged: 0 },
      { id: 's3', state: 'left-alone', queued: 54, damaged: 2 },
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
    /^backend +local: in use, 0 queued, 0 damaged$/,
    /^backend +s3: NOT IN USE.*, 54 queued, 2 damaged$/,
    /^lost +3$/,
    /^withheld 7$/,
  ];
  for (const line of expected) expect(shown).toEqual(expect.arrayContaining([expect.stringMatching(line)]));
  expect(shown.filter((line) => line.startsWith('! '))).toEqual([
    '! critical: 54 blobs are not here. (chain/at-risk-50)',
    '! warning: The clock of this machine is 40 min ahead. (clock/wrong)',
  ]);
});
