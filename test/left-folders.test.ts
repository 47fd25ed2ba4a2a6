import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { coverReadOnly, testWithMounts } from './e2e/mounted-folder.ts';
import { nameOfMine, removeLeftFolders } from './left-folders.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('folders that a killed process left go away; those of a running one stay, and so does what is of no test', () => {
  const parent = temporaryFolder();
  const { pid } = spawnSync(process.execPath, ['--version']);
  const mine = `${nameOfMine('test')}aaaaaa`;
  const kept = [mine, `holdfast-kubo-${pid}-aaaaaa`, 'holdfast-test-old'];
  for (const name of [...kept, `holdfast-test-${pid}-aaaaaa`, `holdfast-simulation-${pid}-bbbbbb`])
    mkdirSync(join(parent, name, 'within'), { recursive: true });
  removeLeftFolders([parent]);
  expect(readdirSync(parent).toSorted()).toEqual(kept.toSorted());
});

testWithMounts('one that cannot be removed stays, and keeps neither the others nor the run', () => {
  const parent = temporaryFolder();
  const { pid } = spawnSync(process.execPath, ['--version']);
  const [mounted, other] = [`holdfast-test-${pid}-aaaaaa`, `holdfast-test-${pid}-bbbbbb`];
  for (const name of [mounted, other]) mkdirSync(join(parent, name, 'within'), { recursive: true });
  coverReadOnly(join(parent, mounted, 'within'));
  removeLeftFolders([parent]);
  expect(readdirSync(parent)).toEqual([mounted]);
});

testWithMounts('a volume of a killed process is unmounted, and its folder goes', () => {
  const parent = temporaryFolder();
  const { pid } = spawnSync(process.execPath, ['--version']);
  const volume = join(parent, `holdfast-mount-${pid}-aaaaaa`);
  mkdirSync(volume);
  coverReadOnly(volume);
  removeLeftFolders([parent]);
  expect(readdirSync(parent)).toEqual([]);
});
