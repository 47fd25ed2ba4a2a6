import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isLocked, lockExclusively } from '../../../src/core/sqlite/exclusive-lock.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('a lock is visible while it is held, has one holder, and is gone after its release', async () => {
  const file = join(await temporaryFolder(), 'lock.sqlite');
  const lock = lockExclusively(file);
  expect(isLocked(file)).toBe(true);
  expect(() => lockExclusively(file)).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
  lock.close();
  expect(isLocked(file)).toBe(false);
  lockExclusively(file).close();
});
