import { expect, test } from 'vitest';
import { isAbsentAnswer } from '../../../src/core/blob/absent-answer.ts';

test.each([
  [-32_602, 'Could not find blob information for versionhash ab', true],
  [-32_602, 'Could not find MTP for versionhash ab', true],
  [-32_602, 'Could not find data size for versionhash ab', false],
  [-32_602, 'Could not find payload for versionhash ab', false],
  [-32_602, 'Could not parse blob data from transaction', false],
  [-32_603, 'Could not find MTP for versionhash ab', false],
])('%i "%s" denies a blob: %s', (code, message, isAbsent) => {
  expect(isAbsentAnswer({ code, message })).toBe(isAbsent);
});
