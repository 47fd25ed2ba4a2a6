import { describe, expect, test } from 'vitest';
import { ArchiveRule } from '../../../src/core/blob/archive-rule.ts';
import { parseVersionHash, type VersionHash } from '../../../src/core/blob/ids.ts';
import { parseSenderScript, type Senders, sendersOf, sendersOfAll } from '../../../src/core/blob/sender.ts';

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

describe('a rule by sender', () => {
  const ours = parseSenderScript(`5120${'AB'.repeat(32)}`);
  const theirs = parseSenderScript(`0014${'cd'.repeat(20)}`);
  const senders = new Set([ours]);

  test.each<[string, Senders, boolean]>([
    ['of another sender', [theirs], true],
    ['of one of the senders among others', [theirs, ours], false],
    ['of unknown senders', null, false],
  ])('judges a blob %s', (_what, found, isLeftOut) => {
    const alone = new ArchiveRule({ maxBlobBytes: null, allowed: null, senders });
    expect([alone.leavesOut(other, 10, found), alone.leavesOut(other, null, found)]).toEqual([isLeftOut, isLeftOut]);
    const beside = new ArchiveRule({ maxBlobBytes: 10, allowed, senders });
    expect([
      beside.leavesOut(other, 11, found),
      // Each part of a rule lets blobs in: a small one, a named one, and one of unknown size.
      beside.leavesOut(other, 10, found),
      beside.leavesOut(named, 11, found),
      beside.leavesOut(other, null, found),
    ]).toEqual([isLeftOut, false, false, false]);
  });

  test('waits for the size of a blob that nothing else lets in', () => {
    const rule = new ArchiveRule({ maxBlobBytes: 10, allowed, senders });
    expect([rule.waitsForSize(other, [theirs]), rule.waitsForSize(other, [ours])]).toEqual([true, false]);
    expect([rule.waitsForSize(other, null), rule.waitsForSize(named, [theirs])]).toEqual([false, false]);
    expect(new ArchiveRule({ maxBlobBytes: null, allowed: null, senders }).waitsForSize(other, [theirs])).toBe(false);
  });

  test('waits for the senders of a blob where nothing else lets it in', () => {
    const rule = new ArchiveRule({ maxBlobBytes: 10, allowed, senders });
    const waits = (versionHash: typeof named, size: number | null) => rule.waitsForSenders(versionHash, size);
    expect([waits(other, 11), waits(other, 10), waits(other, null), waits(named, 11)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(new ArchiveRule({ maxBlobBytes: 10, allowed }).waitsForSenders(other, 11)).toBe(false);
  });

  test('says which senders', () => {
    const says = (scripts: typeof senders) =>
      new ArchiveRule({ maxBlobBytes: 10, allowed: null, senders: scripts }).says;
    expect(says(senders)).toBe(`Only blobs of at most 10 bytes and blobs that ${ours} sent are archived.`);
    expect(says(new Set([ours, theirs]))).toContain(`blobs that one of 2 scripts (${ours}, …) sent`);
  });

  test('counts senders as unknown where one is, and where they are too many or too long to be kept', () => {
    expect(sendersOfAll([[ours], [theirs]])).toEqual([ours, theirs]);
    expect(sendersOfAll([[ours], null])).toBeNull();
    expect(sendersOf([ours, ours])).toEqual([ours]);
    for (const odd of [[], [''], [ours, 'xyz'], [ours, '51'.repeat(129)]]) expect(sendersOf(odd)).toBeNull();
    expect(sendersOf(Array.from({ length: 17 }, (_, index) => `51${index.toString(16).padStart(2, '0')}`))).toBeNull();
    expect(() => parseSenderScript('bc1qaddress')).toThrow('scriptPubKey');
  });
});

test('the text tells rules apart, and a list in another order is the same rule', () => {
  const text = (maxBlobBytes: number | null, names: readonly VersionHash[] | null) =>
    new ArchiveRule({ maxBlobBytes, allowed: names && new Set(names) }).text;
  expect(text(10, [named, other])).toBe(text(10, [other, named]));
  expect(new Set([text(10, null), text(11, null), text(10, []), text(10, [named]), text(null, [named])]).size).toBe(5);
});

test('the rule of a backend says that it is one', () => {
  const rule = new ArchiveRule({ maxBlobBytes: 10, allowed: null }, 'replicated there');
  expect(rule.says).toBe('Only blobs of at most 10 bytes are replicated there.');
});
