import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isLocked, lockExclusively } from '../../../src/core/sqlite/exclusive-lock.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('a lock is seen while it is held, is held by one, and is gone when it is let go', async () => {
  const file = join(await temporaryFolder(), 'lock.sqlite');
  const lock = lockExclusively(file);
  expect(isLocked(file)).toBe(true);
  expect(() => lockExclusively(file)).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
  lock.close();
  expect(isLocked(file)).toBe(false);
  lockExclusively(file).close();
});
