import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type CellResult, notRun } from './matrix-cell.ts';
import { allCells, BACKENDS, MOMENTS } from './matrix-cells.ts';
import { isFaulty, reportOf } from './matrix-report.ts';

const timeout = 600_000;
const MATRIX = fileURLToPath(new URL('matrix.ts', import.meta.url));

test('a planted loss is a false claim in its own cell, a healed fault is none, and the run fails', { timeout }, () => {
  const only = 's3/planted-loss/stored,disk/file-rots/scrub,catalog/EIO, EROFS';
  const words = [MATRIX, '--plant', '--only', only];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const rows = (stdout + stderr).split('\n').filter((line) => line.startsWith('| `'));
  const planted = rows.find((row) => row.includes('planted-loss'));
  const healed = rows.find((row) => row.includes('file-rots'));
  expect(planted).toContain('**FALSE: copy: ');
  expect(healed).toContain('| during a scrub | 6 stored, 6 final, of 6, ready | `archive/damaged-copy` ');
  expect(healed).toContain('| nothing | ');
  expect(rows.filter((row) => row.includes('not run: ')).length).toBeGreaterThan(0);
  expect(stdout).toContain('- False claims: 1. Blobs lost that could be had: 0.');
  expect(status).toBe(1);
});

const [first] = allCells(false);
if (first === undefined) throw new Error('the matrix has cells');
const WELL: CellResult = { ...notRun({ ...first, reason: null }), wholeSeconds: 4, clearSeconds: 60 };

test('a cell fails the run with a false claim, a lost blob, and an archive that never becomes whole', () => {
  expect(isFaulty(WELL)).toBe(false);
  expect(isFaulty({ ...WELL, falseClaim: 'copy: it is not there' })).toBe(true);
  expect(isFaulty({ ...WELL, lost: 1 })).toBe(true);
  expect(isFaulty({ ...WELL, wholeSeconds: null })).toBe(true);
  expect(isFaulty({ ...notRun({ ...first, reason: 'it makes no sense' }) })).toBe(false);
});

test('every backend has every moment for each of its faults, and a cell that is not run says why', () => {
  const cells = allCells(false);
  for (const backend of BACKENDS) {
    const some = cells.filter((cell) => cell.backend === backend);
    const faults = new Set(some.map(({ fault }) => fault));
    expect(faults.size).toBeGreaterThan(0);
    expect(some).toHaveLength(faults.size * MOMENTS.length);
  }
  const report = reportOf(cells.map((cell) => notRun(cell)));
  for (const { reason } of cells) if (reason !== null) expect(report).toContain(`not run: ${reason} |`);
});
