import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { MountedFolder, testWithMounts } from './e2e/mounted-folder.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { takesPrograms } from './temporary-parent.ts';

test('a folder takes programs where the user may write', () => {
  expect(takesPrograms(temporaryFolder())).toBe(true);
  expect(takesPrograms('/nowhere')).toBe(false);
});

testWithMounts('a volume that is mounted without programs, or read-only, is not taken for them', () => {
  const volume = new MountedFolder(65_536);
  volume.setWritable(false);
  expect(takesPrograms(volume.path)).toBe(false);
  volume.setWritable(true);
  expect(takesPrograms(volume.path)).toBe(true);
  spawnSync('mount', ['-o', 'remount,noexec', volume.path]);
  expect(takesPrograms(volume.path)).toBe(false);
});
