import { expect } from 'vitest';
import { atEndOfTest } from '../cleanup.ts';
import { environmentOf } from '../e2e/archive-process.ts';
import { holdfastHere } from '../e2e/holdfast-here.ts';
import { ALL_DISK_FAULTS, DISK_FAULTS, type DiskFaultOutcome, FaultyDisk } from './disk-faults.ts';
import { testWithFileFaults } from './file-faults.ts';

/** `DISK_FAULTS=all`: each fault at each part of the folder, in a few minutes, as a table. */
const isReport = process.env['DISK_FAULTS'] === 'all';
/** The test starts a daemon four times and more, and waits for each fault: a minute by itself, five beside other work. */
const TIMEOUT_MS = 1_800_000;

const lineOf = ({ rule, told, given, refused, wholeAfterMs }: DiskFaultOutcome) =>
  [
    rule.call,
    rule.fault,
    rule.path,
    told ?? 'nothing',
    `${given} given`,
    `${refused} refused`,
    `${Math.round(wholeAfterMs)} ms`,
  ]
    .map((cell) => cell.padEnd(18))
    .join('')
    .trimEnd();

testWithFileFaults(
  'a disk that fails costs no blob and no true answer, and everything is whole once it works again',
  async () => {
    const disk = await FaultyDisk.start(atEndOfTest);
    const outcomes: DiskFaultOutcome[] = [];
    for (const rule of isReport ? ALL_DISK_FAULTS : DISK_FAULTS) outcomes.push(await disk.through(rule));
    await disk.stop();
    const { dataDir, node } = disk;
    const checked = await holdfastHere(['check', '--read-data'], { env: environmentOf({ dataDir, node }) });
    expect(checked, checked.stdout).toMatchObject({ code: 0 });
    // What refuses every write and every sync is told, and never passed over.
    const silent = outcomes.filter(
      ({ rule, told }) => rule.path === '/data/' && rule.fault.startsWith('E') && told === null,
    );
    expect(silent).toEqual([]);
    if (isReport) process.stdout.write(`${outcomes.map(lineOf).join('\n')}\n`);
  },
  TIMEOUT_MS,
);
