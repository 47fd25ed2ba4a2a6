import { expect, test } from 'vitest';
import { withinMemory } from '../../src/core/memory-share.ts';

const MIB = 1_048_576;

test.each([
  ['512 MiB', 512 * MIB, 64 * MIB],
  ['384 MiB', 384 * MIB, 48 * MIB],
  ['hardly any', 32 * MIB, 8 * MIB],
  ['8 GiB', 8_192 * MIB, 256 * MIB],
  ['no limit that the system knows', 0, 256 * MIB],
  ['no limit at all', 2 ** 64, 256 * MIB],
])('answers get an eighth of what the process may have: %s', (_what, mayHaveBytes, bytes) => {
  expect(withinMemory(256 * MIB, mayHaveBytes)).toBe(bytes);
});
