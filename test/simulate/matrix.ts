import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { makeDurableFolder } from '../../src/storage/local/durable-file.ts';
import { nameOfMine } from '../left-folders.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { knowingHashes } from './known-hashes.ts';
import { type CellResult, CellRun, notRun } from './matrix-cell.ts';
import { allCells, type Cell } from './matrix-cells.ts';
import { isFaulty, reportOf, rowOf } from './matrix-report.ts';
import { ALL, shareOf } from './shares.ts';
import { replaceMachine, type World } from './simulated-process.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    /** Parts of names, `backend/fault/moment`, separated by commas: only cells that contain one of them. */
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    /** With a loss that nothing excuses, which must be found. */
    plant: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    /** Each cell is printed on standard error when it ends, with its backend. */
    tell: { type: 'boolean', default: false },
    /** Processes that share the cells. */
    jobs: { type: 'string', default: '1' },
    /** The share of the cells that this process takes; given by the one that has begun it. */
    share: { type: 'string' },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const nameOf = ({ backend, fault, moment }: Cell) => `${backend}/${fault}/${moment}`;
const parts = values.only.split(',');
const cells = allCells(values.plant).filter((cell) => parts.some((part) => nameOf(cell).includes(part)));

async function runShare(): Promise<CellResult[]> {
  const root = mkdtempSync(join(temporaryParent(), nameOfMine('simulation')));
  process.on('exit', () => rmSync(root, { recursive: true, force: true }));
  const hasher = knowingHashes(await createNodeHasher());
  await makeDurableFolder(root);
  const machine: { world: World | null } = { world: null };
  replaceMachine(() => {
    if (machine.world === null) throw new Error('nothing is simulated now');
    return machine.world;
  });
  const share = values.share === undefined ? ALL : shareOf(values.share);
  const results: CellResult[] = [];
  for (const [number, cell] of cells.entries()) {
    if (number % share.of !== share.number) continue;
    if (cell.reason !== null) {
      results.push(notRun(cell));
      continue;
    }
    const run = new CellRun(cell, Number(values.seed), join(root, String(number)), hasher, values.trace ? say : null);
    machine.world = run.world;
    const result = await run.run();
    results.push(result);
    if (values.tell) process.stderr.write(`${cell.backend} ${rowOf(result)}\n`);
  }
  return results;
}

/** Each share in a process of its own. One that ends without its results fails the run. */
async function runShares(jobs: number): Promise<CellResult[]> {
  const words = Object.entries({ ...values, jobs: '1', json: false }).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : typeof value === 'string' ? [`--${name}`, value] : [],
  );
  const told = await Promise.all(
    Array.from({ length: jobs }, (_, number) => {
      const child = fork(fileURLToPath(import.meta.url), [...words, '--share', `${number}/${jobs}`]);
      return new Promise<CellResult[]>((resolve, reject) => {
        child.on('message', (results) => resolve(results as CellResult[]));
        child.once('close', (code) => reject(new Error(`a share ended with ${code} and told nothing`)));
      });
    }),
  );
  return cells.flatMap((_, number) => told[number % jobs]?.[Math.floor(number / jobs)] ?? []);
}

const jobs = Number(values.jobs);
const results = jobs > 1 ? await runShares(jobs) : await runShare();
if (values.share !== undefined) await new Promise((resolve) => void process.send?.(results, resolve));
else say(values.json ? JSON.stringify(results, null, 2) : reportOf(results));
process.exit(results.some(isFaulty) && values.share === undefined ? 1 : 0);
