/**
 * Everything that walks the catalog or a listing, over 10⁵ contents and over as many as are asked for. The limits of memory
 * are those that ship; the peak of each walk is compared with that of the small catalog. `npm run bench -- walks` goes to 10⁶; to 10⁷ by
 * `node test/bench/walks.ts 10000000`, which takes an hour and 8 GB of disk; names of walks after the number run those
 * alone. Linux alone tells a process its peak.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { fill, insertMicroseconds, open } from './chain-catalog.ts';
import { describe, type Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

const SMALL = 100_000;
const WALKS = [
  'open',
  'audit',
  'check, nothing listed',
  'scrub of a day',
  'rebuild',
  'judge of losses',
  'window',
  'status',
  'check, everything listed',
  'check of records and evidence',
] as const;
/** The most that a walk may need by what it needs of the small catalog. */
const MAX_RATIO = 1.5;
const MAX_MIB = 300;
const MIB = 1_048_576;

const outcome = z.object({ counted: z.number(), seconds: z.number(), peakMib: z.number() });

/** A tenth of everything is each of: overdue in the queue, recorded as lost, custom, and evidence. */
function addOddities(path: string, contents: number): void {
  const database = new Database(path);
  database.pragma('synchronous = OFF');
  const tenth = Math.floor(contents / 10);
  const part = (number: number) =>
    `FROM content WHERE sequence > ${number * tenth} AND sequence <= ${(number + 1) * tenth} ORDER BY version_hash`;
  database.transaction(() => {
    database.exec(`INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, hash_type)
      SELECT version_hash, size_bytes, txid, 1, 1, 1 ${part(1)}`);
    database.exec(`INSERT INTO lost (version_hash, hash_type, up_to_height, deadline_seconds, recorded_ms, answers)
      SELECT version_hash, hash_type, 1000000000, 1, 1, '[]' ${part(2)}`);
    database.exec(`INSERT INTO custom (version_hash, keccak, size_bytes, kept_ms, is_held)
      SELECT version_hash, randomblob(32), 9, 1, 1 ${part(3)}`);
    database.exec(`INSERT INTO evidence (path, document, sequence)
      SELECT 'lost/keccak256/' || lower(hex(version_hash)) || '/1.json', '{}', sequence ${part(2)}`);
    for (const number of [1, 2, 3]) {
      database.exec(
        `DELETE FROM copy WHERE kind = 5 AND object > ${number * tenth} AND object <= ${(number + 1) * tenth}`,
      );
      database.exec(
        `UPDATE content SET state = 0 WHERE sequence > ${number * tenth} AND sequence <= ${(number + 1) * tenth}`,
      );
    }
    database.exec(
      `UPDATE fact SET value = json_set(value, '$.finalHeight', 1000000000, '$.finality', 'chainlock') WHERE name = 'walk'`,
    );
  })();
  database.close();
}

async function walksOver(
  folder: string,
  contents: number,
  walks: readonly string[],
): Promise<Map<string, z.output<typeof outcome>>> {
  const path = join(folder, `catalog-${contents}.sqlite`);
  const catalog = open(path);
  catalog.copies.useBackends(['local']);
  catalog.chain.recordStart(1);
  insertMicroseconds(catalog, 1);
  catalog.close();
  fill(path, contents);
  addOddities(path, contents);
  process.stderr.write(`a catalog of ${contents.toLocaleString('en')}: ${Math.round(statSync(path).size / MIB)} MiB\n`);
  const found = new Map<string, z.output<typeof outcome>>();
  for (const walk of walks) {
    const child = await startAndReadLine('walks-process.ts', [path, walk], NODE_FLAGS);
    const told = outcome.parse(JSON.parse(child.line));
    await stopProcess(child);
    process.stderr.write(`  ${walk}: ${JSON.stringify(told)}\n`);
    found.set(walk, told);
  }
  return found;
}

export async function benchWalks(contents: number, walks: readonly string[] = WALKS): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    const small = await walksOver(folder, SMALL, walks);
    const large = await walksOver(folder, contents, walks);
    return [...large].flatMap(([walk, { counted, seconds, peakMib }]) => [
      {
        name: `${walk}: peak memory by that of ${SMALL.toLocaleString('en')}`,
        value: peakMib / (small.get(walk)?.peakMib ?? 0),
        unit: '×',
        most: MAX_RATIO,
      },
      { name: '  peak memory', value: peakMib, unit: 'MiB', most: MAX_MIB },
      { name: '  rows gone through', value: counted, unit: '' },
      { name: '  time', value: seconds, unit: 's' },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [contents = '1000000', ...walks] = process.argv.slice(2);
  for (const figure of await benchWalks(Number(contents), walks.length === 0 ? WALKS : walks)) {
    process.stdout.write(`${describe(figure)}\n`);
  }
}
