import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseByteRange } from '../../src/http/byte-range.ts';

describe('a range of 10 bytes', () => {
  test.each([
    ['bytes=0-3', { kind: 'part', first: 0, last: 3 }],
    ['BYTES=0-3', { kind: 'part', first: 0, last: 3 }],
    ['bytes= 2-2 ', { kind: 'part', first: 2, last: 2 }],
    ['bytes=4-', { kind: 'part', first: 4, last: 9 }],
    ['bytes=4-99999999999999999999999', { kind: 'part', first: 4, last: 9 }],
    ['bytes=-3', { kind: 'part', first: 7, last: 9 }],
    ['bytes=-99', { kind: 'part', first: 0, last: 9 }],
    ['bytes=10-', { kind: 'unsatisfiable' }],
    ['bytes=99999999999999999999999-', { kind: 'unsatisfiable' }],
    ['bytes=-0', { kind: 'unsatisfiable' }],
    ['bytes=3-2', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['bytes=', { kind: 'whole' }],
    ['bytes=0-1,4-5', { kind: 'whole' }],
    ['bytes=1-2-3', { kind: 'whole' }],
    ['bytes=0x1-2', { kind: 'whole' }],
    ['items=0-3', { kind: 'whole' }],
    [undefined, { kind: 'whole' }],
  ])('%s', (header, range) => {
    expect(parseByteRange(header, 10)).toEqual(range);
  });

  test('is never a part of an empty body', () => {
    expect(parseByteRange('bytes=0-', 0)).toEqual({ kind: 'unsatisfiable' });
    expect(parseByteRange('bytes=-1', 0)).toEqual({ kind: 'unsatisfiable' });
  });

  test('stays inside the bytes, whatever is asked', () => {
    const header = fc.oneof(
      fc.string(),
      fc.tuple(fc.nat(), fc.nat()).map(([first, last]) => `bytes=${first}-${last}`),
      fc.nat().map((first) => `bytes=${first}-`),
      fc.nat().map((length) => `bytes=-${length}`),
      fc.stringMatching(/^bytes=[0-9, \t-]{0,40}$/),
    );
    fc.assert(
      fc.property(header, fc.nat({ max: 3_000_000 }), (text, sizeBytes) => {
        const range = parseByteRange(text, sizeBytes);
        if (range.kind !== 'part') return;
        expect(Number.isInteger(range.first) && Number.isInteger(range.last)).toBe(true);
        expect(range.first).toBeGreaterThanOrEqual(0);
        expect(range.last).toBeGreaterThanOrEqual(range.first);
        expect(range.last).toBeLessThan(sizeBytes);
      }),
    );
  });

  test('is exactly what was asked where that lies inside', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), fc.nat(10_000), (first, more, behind) => {
        const last = first + more;
        expect(parseByteRange(`bytes=${first}-${last}`, last + 1 + behind)).toEqual({ kind: 'part', first, last });
      }),
    );
  });
});
