import fc from 'fast-check';
import { expect, test } from 'vitest';
import { heldShareAtLeast, shareInWords } from '../../src/verify/index.ts';

/** Exactly so many good, by the definition. */
function chance(good: number, draws: number, share: number): number {
  let ways = 1;
  for (let at = 0; at < good; at += 1) ways = (ways * (draws - at)) / (at + 1);
  return ways * share ** good * (1 - share) ** (draws - good);
}

test.each([
  [1, '1.00 %'],
  [300, '98.47 %'],
  // 0.01^(1/3000) = 0.998466…: not 99.85 %, to which it would be rounded up.
  [3_000, '99.84 %'],
  [100_000, '99.99 %'],
])('when all %i were good, 99 %% confidence gives %s', (draws, words) => {
  expect(heldShareAtLeast(draws, draws, 0.99)).toBeCloseTo(0.01 ** (1 / draws), 12);
  expect(shareInWords(heldShareAtLeast(draws, draws, 0.99))).toBe(words);
});

test('at the bound, so many good ones or more would come with a chance of just what confidence leaves', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 60 }), fc.nat(), fc.constantFrom(0.9, 0.99), (draws, some, confidence) => {
      const good = 1 + (some % (draws - 1));
      const share = heldShareAtLeast(good, draws, confidence);
      let sum = 0;
      for (let count = good; count <= draws; count += 1) sum += chance(count, draws, share);
      expect(sum).toBeCloseTo(1 - confidence, 6);
    }),
  );
});

test('nothing follows from nothing, and more failures never make a better bound', () => {
  expect([heldShareAtLeast(0, 0, 0.99), heldShareAtLeast(0, 9, 0.99)]).toEqual([0, 0]);
  const bounds = [3_000, 2_999, 2_990, 2_000, 10].map((good) => heldShareAtLeast(good, 3_000, 0.99));
  expect(bounds).toEqual(bounds.toSorted((a, b) => b - a));
  expect(shareInWords(0.00456)).toBe('0.45 %');
});
