import { expect, test } from 'vitest';
import { checkReport, showReport } from '../../src/cli/check/check-report.ts';

const BACKEND = {
  backend: 's3',
  listed: 2,
  unknown: 0,
  read: 0,
  missing: 0,
  damaged: 0,
  missingRecords: 0,
  isResumed: false,
  fault: null,
};
const CUSTOM = { backend: 's3', listed: 0, unknown: 0, read: 0, missing: 0, damaged: 0, isResumed: false, fault: null };
const GOOD: ReturnType<typeof checkReport.parse> = {
  backends: [BACKEND],
  custom: [CUSTOM],
  left: [],
  leftCount: 0,
  repairedMeanwhile: [],
  repaired: 0,
  waiting: { s3: 0 },
  notAsked: [],
  short: null,
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
    'the archive that runs repaired what was found',
    {
      ...GOOD,
      backends: [{ ...BACKEND, missing: 1 }],
      repairedMeanwhile: [{ backend: 's3', hashType: 'keccak256', versionHash: 'ab' }],
      repaired: 1,
    },
    ['1 copy was brought back', 'repaired s3 keccak256 ab', expect.stringContaining('is good again')],
  ],
  [
    'several wait',
    { ...GOOD, waiting: { s3: 2 }, repaired: 1 },
    ['s3: 2 blobs wait for a first copy there', '1 copy was brought back', expect.stringContaining('holdfast run')],
  ],
  [
    'a record is missing',
    { ...GOOD, backends: [{ ...BACKEND, missingRecords: 1 }] },
    [expect.stringContaining('1 record is missing there'), 'Every blob is as the catalog says.'],
  ],
  [
    'it went on where one was interrupted',
    { ...GOOD, backends: [{ ...BACKEND, isResumed: true }] },
    ['s3: what came before was read by the check that was interrupted', 'Everything is as the catalog says.'],
  ],
  [
    'one could not be asked',
    {
      ...GOOD,
      backends: [BACKEND, { ...BACKEND, backend: 'ipfs', fault: 'it is away' }],
      waiting: { s3: 0, ipfs: 3 },
      notAsked: ['ipfs'],
      short: { required: 2, blobs: 54 },
    },
    ['ipfs: could not be asked: it is away', expect.stringContaining('holdfast check again')],
  ],
  [
    'custom commitments could not be read',
    {
      ...GOOD,
      custom: [{ ...CUSTOM, fault: 'it is away' }],
      notAsked: ['s3'],
      short: { required: 1, blobs: 1 },
    },
    [
      's3: custom commitments could not be checked to the end: it is away',
      expect.stringContaining('holdfast check again'),
    ],
  ],
  [
    'there are custom commitments',
    { ...GOOD, custom: [{ ...CUSTOM, listed: 2, read: 1 }] },
    ['Everything is as the catalog says.'],
  ],
  [
    'custom bytes are nowhere',
    {
      ...GOOD,
      left: [{ backend: 's3', hashType: 'custom', versionHash: 'aa', keccak: 'bb', elsewhere: false }],
      leftCount: 1,
    },
    ['LOST    s3 custom aa/bb', 'Next: holdfast check --repair'],
  ],
])('%s: the last line is no more than what the lines above it say', (_name, report, says) => {
  const lines = showReport(report, false).filter((line) => !line.includes(' | '));
  expect(lines.slice(lines.length - says.length)).toEqual(says);
});

test('counts stand in one table, a line for each backend that was asked, and one more for its custom commitments', () => {
  const backends = [
    BACKEND,
    { ...BACKEND, backend: 'ipfs:main', listed: 1_234 },
    { ...BACKEND, backend: 'gone', fault: 'away' },
  ];
  const custom = [
    { ...CUSTOM, listed: 2, read: 1 },
    { ...CUSTOM, backend: 'ipfs:main' },
  ];
  const table = showReport({ ...GOOD, backends, custom }, false).filter((line) => line.includes(' | '));
  expect(table).toEqual([
    'backend   | of                 | listed | read | missing | damaged | not in the catalog',
    '--------- | ------------------ | -----: | ---: | ------: | ------: | -----------------:',
    's3        | blobs              |      2 |    0 |       0 |       0 |                  0',
    'ipfs:main | blobs              |   1234 |    0 |       0 |       0 |                  0',
    's3        | custom commitments |      2 |    1 |       0 |       0 |                  0',
  ]);
});

test.each([
  [{ required: 2, blobs: 54 }, 'Without them, 54 blobs have fewer than 2 good copies.'],
  [{ required: 1, blobs: 1 }, 'Without them, 1 blob has no good copy that counts.'],
])('the first line says what could not be asked, and what is left without it', (short, says) => {
  const fault = 'The s3 store has no such bucket.';
  const gone = { ...GOOD, backends: [{ ...BACKEND, fault }], waiting: { s3: 3 }, notAsked: ['s3'], short };
  const lines = showReport(gone, false);
  expect(lines[0]).toBe(`s3 could not be asked, or not to the end: the copies there are not counted. ${says}`);
  expect(lines.join(' ')).not.toContain('first copy');
  expect(lines.join(' ')).not.toContain('nothing is missing');
});

const LEFT = { backend: 's3', hashType: 'keccak256', versionHash: 'aa' };

test.each([
  [[{ ...LEFT, elsewhere: false }], 1, ['LOST: no backend has a good copy of 1 blob.']],
  [
    [
      { ...LEFT, elsewhere: true },
      { ...LEFT, versionHash: 'bb', elsewhere: false },
      { ...LEFT, versionHash: 'bb', backend: 'local', elsewhere: false },
    ],
    3,
    ['LOST: no backend has a good copy of 1 blob.', '1 copy is missing or damaged, and good ones are elsewhere.'],
  ],
  [
    [{ ...LEFT, elsewhere: false }],
    3,
    [
      'LOST: no backend has a good copy of at least 1 blob.',
      '2 copies are missing or damaged, and not all of them are named below.',
    ],
  ],
])('findings of an earlier check stand before the counts of this one, the lost first', (left, leftCount, says) => {
  const lines = showReport({ ...GOOD, left, leftCount }, false);
  expect(lines.slice(0, says.length + 1)).toEqual([...says, expect.stringMatching(/^backend .* damaged/)]);
});

test('takes what was repaired meanwhile by its earlier name as well, which a daemon of release 0.1 may say alone', () => {
  const { repairedMeanwhile: _, ...before } = GOOD;
  const copies = [{ backend: 's3', hashType: 'keccak256', versionHash: 'ab' }];
  expect(checkReport.parse({ ...before, mended: copies }).repairedMeanwhile).toEqual(copies);
  expect(checkReport.parse({ ...before, mended: copies, repairedMeanwhile: [] }).repairedMeanwhile).toEqual([]);
});
