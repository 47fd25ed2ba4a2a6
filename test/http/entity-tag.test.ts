import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entityTagOf, isAlreadyThere, rangeStillHolds } from '../../src/http/entity-tag.ts';
import { cpuSeconds } from '../bench/cpu-time.ts';
import { blobOf, bytesOf } from './fake-archive-view.ts';

const TAG = entityTagOf(blobOf(bytesOf(3)));
const OTHER = entityTagOf(blobOf(bytesOf(3), 'blake2s256'));

describe('an entity tag', () => {
  test('names hash type and hash', () => {
    expect(TAG).toMatch(/^"keccak256:[0-9a-f]{64}"$/);
    expect(OTHER).toMatch(/^"blake2s256:[0-9a-f]{64}"$/);
  });

  test.each([
    ['*', true],
    [TAG, true],
    [`W/${TAG}`, true],
    [`"a,b", W/${TAG} , "c"`, true],
    [OTHER, false],
    [TAG.toUpperCase(), false],
    [TAG.slice(1, -1), false],
    ['"', false],
    ['', false],
    [undefined, false],
  ])('If-None-Match %s', (header, already) => {
    expect(isAlreadyThere(header, TAG)).toBe(already);
  });

  test.each([
    [undefined, true],
    [TAG, true],
    [`W/${TAG}`, false],
    [OTHER, false],
    ['Tue, 01 Jan 2030 00:00:00 GMT', false],
  ])('If-Range %s', (header, holds) => {
    expect(rangeStillHolds(header, TAG)).toBe(holds);
  });

  test('is found in any list that has it, and in none that has not', () => {
    const tags = fc.array(fc.stringMatching(/^[!#-~]{0,20}$/).map((text) => `"${text}"`));
    const weak = fc.boolean().map((isWeak) => (isWeak ? 'W/' : ''));
    fc.assert(
      fc.property(tags, tags, weak, fc.constantFrom(',', ', ', ' ,\t'), (before, after, prefix, comma) => {
        expect(isAlreadyThere([...before, `${prefix}${TAG}`, ...after].join(comma), TAG)).toBe(true);
        expect(isAlreadyThere([...before, ...after].join(comma), TAG)).toBe(false);
      }),
    );
  });

  test('costs no more than the header is long', () => {
    const started = cpuSeconds();
    isAlreadyThere(`${'"'.repeat(100_001)}${' '.repeat(100_000)}`, TAG);
    isAlreadyThere(`${'W/'.repeat(100_000)}${','.repeat(100_000)}`, TAG);
    // Linear takes some milliseconds, quadratic minutes.
    expect(cpuSeconds() - started).toBeLessThan(2);
  });
});
