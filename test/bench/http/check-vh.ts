import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { parseVersionHash, type VersionHash } from '../../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../../src/core/time/clock.ts';
import { questionsOf } from '../../reading/questions-of.ts';
import { fill, insertMicroseconds, open } from '../chain-catalog.ts';
import type { Figure } from '../figure.ts';

const SMALLEST = 10_000;
const ASKED = 32;
const QUESTIONS = 400;
const ROUNDS = 9;

/** `check_vh` of 32 stored and final hashes, all different, warm: microseconds, the median of the rounds. */
function askedMicroseconds(path: string): number {
  const catalog = open(path);
  const tip = catalog.chain.state.tip?.height ?? 0;
  const questions = questionsOf(catalog, {
    isListCurrent: () => true,
    catalogRebuild: { isDone: true },
    chain: { whyNotCurrent: null, hasConflict: false, lacksHistory: false, finalHeight: tip },
    clock: SYSTEM_CLOCK,
  });
  const asked = hashesIn(path, ASKED * QUESTIONS);
  const once = () => {
    const begun = performance.now();
    for (let at = 0; at < asked.length; at += ASKED) {
      const answer = questions.storedAndFinal(asked.slice(at, at + ASKED));
      if (answer.kind !== 'told' || !answer.safe.every(Boolean)) throw new Error('They are all stored and final.');
    }
    return ((performance.now() - begun) * 1_000) / QUESTIONS;
  };
  once();
  const times = Array.from({ length: ROUNDS }, once).toSorted((a, b) => a - b);
  catalog.close();
  return times[ROUNDS >> 1] ?? Number.NaN;
}

/** At places all over the table. */
function hashesIn(path: string, count: number): VersionHash[] {
  const database = new Database(path, { readonly: true });
  const most = Number(database.prepare('SELECT MAX(sequence) FROM content').pluck().get());
  const next = database
    .prepare('SELECT version_hash FROM content WHERE sequence >= ? ORDER BY sequence LIMIT 1')
    .pluck();
  const found = Array.from({ length: count }, (_, index) => {
    const hash = next.get(1 + (Math.floor((index * 7_919 * most) / count) % most));
    return parseVersionHash(Buffer.isBuffer(hash) ? hash.toString('hex') : '');
  });
  database.close();
  return found;
}

/** Rows: 10⁶; HOLDFAST_BENCH_ROWS=10000000 for what is promised. It takes minutes and 5 GB. */
export function benchCheckVh(): Figure[] {
  const rows = Number(process.env['HOLDFAST_BENCH_ROWS'] ?? 1_000_000);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const path = join(folder, 'catalog.sqlite');
  try {
    const catalog = open(path);
    catalog.chain.recordStart(1);
    insertMicroseconds(catalog, 1);
    catalog.close();
    fill(path, SMALLEST);
    const few = askedMicroseconds(path);
    fill(path, rows);
    const many = askedMicroseconds(path);
    return [
      { name: 'check_vh of 32 at 10,000 rows', value: few, unit: 'µs' },
      { name: `  at ${rows.toLocaleString('en')} rows, by that`, value: many / few, unit: '×', most: 3.5 },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
