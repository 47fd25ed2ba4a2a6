import { expect, test } from 'vitest';
import { ArchiveRule } from '../../../src/core/blob/archive-rule.ts';
import { parseVersionHash } from '../../../src/core/blob/ids.ts';

const named = parseVersionHash('aa'.repeat(32));
const other = parseVersionHash('bb'.repeat(32));
const allowed = new Set([named]);

test.each([
  ['no rule', { maxBlobBytes: null, allowed: null }, [false, false, false, false], null],
  [
    'a limit',
    { maxBlobBytes: 10, allowed: null },
    [true, false, true, false],
    'Only blobs of at most 10 bytes are archived.',
  ],
  [
    'an allow-list',
    { maxBlobBytes: null, allowed },
    [false, true, true, true],
    'Only the 1 blobs of the allow-list are archived.',
  ],
  [
    'both: either lets a blob in',
    { maxBlobBytes: 10, allowed },
    [false, false, true, false],
    'Only blobs of at most 10 bytes and the 1 blobs of the allow-list are archived.',
  ],
])('%s', (_what, settings, leavesOut, says) => {
  const rule = new ArchiveRule(settings);
  expect([
    rule.leavesOut(named, 11),
    rule.leavesOut(other, 10),
    rule.leavesOut(other, 11),
    rule.leavesOut(other, null),
  ]).toEqual(leavesOut);
  expect(rule.says).toBe(says);
});
