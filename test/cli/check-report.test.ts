import { expect, test } from 'vitest';
import { type checkReport, showReport } from '../../src/cli/check/check-report.ts';

const BACKEND = {
  backend: 's3',
  listed: 2,
  unknown: 0,
  read: 0,
  missing: 0,
  damaged: 0,
  missingRecords: 0,
  fault: null,
};
const GOOD: typeof checkReport._output = {
  backends: [BACKEND],
  left: [],
  leftCount: 0,
  repaired: 0,
  waiting: { s3: 0 },
};

test.each([
  ['all is there', GOOD, ['Everything is as the catalog says.']],
  [
    'one waits, as after a kill -9',
    { ...GOOD, waiting: { s3: 1 } },
    [
      's3: 1 blob waits for a first copy there',
      'Nothing is missing or damaged. Next: holdfast run, which places what waits.',
    ],
  ],
  [
    'several wait',
    { ...GOOD, waiting: { s3: 2 }, repaired: 1 },
    ['s3: 2 blobs wait for a first copy there', '1 copy was brought back', expect.stringContaining('holdfast run')],
  ],
  [
    'a record is missing',
    { ...GOOD, backends: [{ ...BACKEND, missingRecords: 1 }] },
    [expect.stringContaining('1 occurrence record missing'), 'Every blob is as the catalog says.'],
  ],
  [
    'one could not be asked',
    { ...GOOD, backends: [BACKEND, { ...BACKEND, backend: 'ipfs', fault: 'it is away' }] },
    ['ipfs: could not be asked: it is away', 'Of what could be asked, nothing is missing or damaged.'],
  ],
])('%s: the last line is no more than what the lines above it say', (_name, report, says) => {
  expect(showReport(report, false).slice(1)).toEqual(says);
});
