/**
 * The catalog as the chain grows: look-up and insert from 10⁴ occurrences on, the audit against a plain scan of the same
 * rows, and one content with 500,000 occurrences. `npm run bench -- catalog` goes to 10⁶, in a process of its own; to 10⁷
 * by `node --max-semi-space-size=8 test/bench/chain-catalog.ts 10000000`, which takes minutes and 5 GB of disk.
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import { auditChain } from '../../src/chain/audit.ts';
import { parseBlockHash, parseTxId, parseVersionHash, type VersionHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { describe, type Figure } from './figure.ts';
import { startAndReadLine } from './process-line.ts';

const figuresOf = z.array(
  z.object({
    name: z.string(),
    value: z.number(),
    unit: z.string(),
    least: z.number().exactOptional(),
    most: z.number().exactOptional(),
  }),
);

const PER_BLOCK = 32;
/** Full blocks that share a commit: as the prototypes were measured, and as the walk does it while it catches up. */
const GROUPINGS = [
  { name: 'in commits of 64', blocks: 2, groups: 120 },
  { name: 'in commits of 2,048', blocks: 64, groups: 7 },
] as const;
const SMALLEST = 10_000;
const SAMPLE = 20_000;
const ROUNDS = 5;
const NEVER = new AbortController().signal;
const MIB = 1_048_576;

const blockHash = (height: number) => parseBlockHash(createHash('sha256').update(`block ${height}`).digest('hex'));
const randomHash = () => randomBytes(32).toString('hex');

export function open(path: string): Catalog {
  return Catalog.open({
    path,
    migrationsFolder: fileURLToPath(new URL('../../migrations', import.meta.url)),
    backends: ['local'],
    replicasRequired: 1,
    clock: SYSTEM_CLOCK,
  });
}

function walkedBlock(height: number, hashOf: () => string): WalkedBlock {
  const occurrences = Array.from({ length: PER_BLOCK }, (_, transactionIndex) => {
    const versionHash = parseVersionHash(hashOf());
    const txid = parseTxId(randomHash());
    return { versionHash, hashType: 'keccak256' as const, txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
  });
  const times = { timeSeconds: height, medianTimeSeconds: height };
  return { height, hash: blockHash(height), previousHash: blockHash(height - 1), ...times, occurrences, unclear: [] };
}

const residentMib = () => process.memoryUsage().rss / MIB;

const tipOf = (catalog: Catalog) => catalog.chain.state.tip?.height ?? 0;

/** Fills it up to so many occurrences, all of them stored: in bulk, for what is measured comes afterwards. */
export function fill(path: string, occurrences: number): void {
  const database = new Database(path);
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -32000');
  const number = (sql: string) => Number(database.prepare(sql).pluck().get());
  const indices = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'occurrence' AND type = 'index' AND sql IS NOT NULL")
    .raw()
    .all()
    .map((row) => (Array.isArray(row) ? row.map(String) : []));
  const tip = number('SELECT MAX(height) FROM block');
  const blocks = Math.floor((occurrences - number('SELECT COUNT(*) FROM occurrence')) / PER_BLOCK);
  database.transaction(() => {
    for (const [name] of indices) database.exec(`DROP INDEX ${name}`);
    const block = database.prepare('INSERT INTO block VALUES (?, ?, ?, ?, ?)');
    const key = (height: number) => Buffer.from(blockHash(height), 'hex');
    for (let at = tip + 1; at <= tip + blocks; at += 1) block.run(at, key(at), key(at - 1), at, at);
    database.exec(`INSERT INTO occurrence (height, transaction_index, version_hash, hash_type, txid, vout)
      WITH RECURSIVE counted (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM counted WHERE i + 1 < ${blocks * PER_BLOCK})
      SELECT ${tip + 1} + i / ${PER_BLOCK}, i % ${PER_BLOCK}, randomblob(32), 1, randomblob(32), 0 FROM counted`);
    for (const [, sql] of indices) if (sql !== undefined) database.exec(sql);
    database.exec(`INSERT INTO content (version_hash, hash_type, sequence, state, size_bytes, txid, median_time_seconds, first_seen_ms, spooled_ms, stored_ms)
      SELECT version_hash, 1, (SELECT MAX(sequence) FROM content) + row_number() OVER (), 2, 9, txid, 1, 1, 1, 1
      FROM occurrence INDEXED BY occurrence_by_content WHERE height > ${tip} ORDER BY version_hash`);
    database.exec(`INSERT INTO copy (backend_id, kind, object, state, verified_ms)
      SELECT 1, 5, sequence, 1, 1 FROM content WHERE sequence > (SELECT COALESCE(MAX(object), 0) FROM copy WHERE kind = 5) ORDER BY sequence`);
  })();
  database.close();
}

/** Walks new blocks in groups, as the daemon does it. Microseconds an occurrence. */
export function insertMicroseconds(catalog: Catalog, groups: number, groupBlocks = 64) {
  const times = Array.from({ length: groups }, () => {
    const from = tipOf(catalog) + 1;
    const group = Array.from({ length: groupBlocks }, (_, index) => walkedBlock(from + index, randomHash));
    const begun = performance.now();
    catalog.chain.recordBlocks(group, () => false);
    const tookMs = performance.now() - begun;
    const names = group.flatMap(({ occurrences }) => occurrences);
    const spooled = { sizeBytes: 9, txid: null, medianTimeSeconds: 1, firstSeenMs: 1 };
    catalog.recordSpooled(names.map((name) => ({ ...name, ...spooled })));
    catalog.recordProven(
      'local',
      names.flatMap(({ versionHash }) => catalog.find(versionHash)),
    );
    return (tookMs * 1_000) / (groupBlocks * PER_BLOCK);
  });
  return { median: median(times), mean: times.reduce((sum, time) => sum + time, 0) / times.length };
}

function lookUpMicroseconds(path: string, catalog: Catalog): number {
  const database = new Database(path, { readonly: true });
  const names: VersionHash[] = database
    .prepare('SELECT version_hash FROM occurrence INDEXED BY occurrence_by_content WHERE version_hash > ? LIMIT 16')
    .pluck()
    .all(randomBytes(32))
    .map((hash) => parseVersionHash(Buffer.isBuffer(hash) ? hash.toString('hex') : ''));
  const next = database
    .prepare('SELECT version_hash FROM occurrence INDEXED BY occurrence_by_content WHERE version_hash > ? LIMIT 1')
    .pluck();
  while (names.length < SAMPLE) {
    const hash = next.get(randomBytes(32));
    if (Buffer.isBuffer(hash)) names.push(parseVersionHash(hash.toString('hex')));
  }
  database.close();
  const once = () => {
    const begun = performance.now();
    for (const versionHash of names) catalog.chain.firstHeight({ versionHash, hashType: 'keccak256' });
    return ((performance.now() - begun) * 1_000) / names.length;
  };
  once();
  return median(Array.from({ length: ROUNDS }, once));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Every column of every occurrence once, inside SQLite. */
const SCAN =
  'SELECT COUNT(*), SUM(height), SUM(transaction_index), MAX(version_hash), SUM(hash_type), MAX(txid), SUM(vout) FROM occurrence NOT INDEXED';

async function benchAudit(path: string, catalog: Catalog): Promise<Figure[]> {
  const database = new Database(path, { readonly: true });
  database.pragma('cache_size = -16384');
  const scan = database.prepare(SCAN);
  const ratios: number[] = [];
  const blocked: number[] = [];
  let occurrences = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const scanBegun = performance.now();
    scan.get();
    const scanMs = performance.now() - scanBegun;
    const stopWatching = watchEventLoop();
    const begun = performance.now();
    const report = await auditChain(catalog, { from: null, to: null }, { finalHeight: null, nodeTip: null }, NEVER);
    const auditMs = performance.now() - begun;
    blocked.push(stopWatching());
    occurrences = report.occurrences.stored;
    if (!report.isComplete) throw new Error('The audit found something that is not stored.');
    // The first round warms both.
    if (round > 0) ratios.push(auditMs / scanMs);
  }
  database.close();
  return [
    { name: 'catalog: occurrences audited', value: occurrences, unit: '' },
    { name: '  audit by one plain scan of the same rows', value: median(ratios), unit: '×', most: 3 },
    { name: '  longest that the audit held the event loop', value: median(blocked), unit: 'ms', most: 50 },
  ];
}

/** Gives, when it is called, the longest time that nothing else could run. */
function watchEventLoop(): () => number {
  let last = performance.now();
  let longest = 0;
  let isOver = false;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    isOver = true;
    return Math.max(longest, performance.now() - last);
  };
}

/** 500,000 occurrences of one content: spam that must not cost more than other blobs. */
function benchRepeated(catalog: Catalog): Figure[] {
  const same = randomHash();
  const first = tipOf(catalog) + 1;
  const last = first + Math.ceil(500_000 / PER_BLOCK) - 1;
  let walkMs = 0;
  for (let at = first; at <= last; at += 64) {
    const count = Math.min(64, last - at + 1);
    const group = Array.from({ length: count }, (_, index) => walkedBlock(at + index, () => same));
    const begun = performance.now();
    catalog.chain.recordBlocks(group, () => false);
    walkMs += performance.now() - begun;
  }
  const name = { versionHash: parseVersionHash(same), hashType: 'keccak256' as const };
  catalog.chain.useFinality('chainlock');
  const timed = (work: () => unknown) => {
    const begun = performance.now();
    work();
    return performance.now() - begun;
  };
  const finalMs = timed(() => catalog.chain.recordFinal(last - 200));
  const pageMs = timed(() => {
    catalog.chain.occurrences(name, { height: last - 1_000, transactionIndex: 3 }, 17);
    catalog.chain.firstHeight(name);
  });
  const backMs = timed(() => catalog.chain.takeBack(last - 100));
  return [
    { name: 'one content 500,000 times: walked', value: (walkMs * 1_000) / 500_000, unit: 'µs each' },
    { name: '  all of them final', value: finalMs, unit: 'ms', most: 50 },
    { name: '  a page of them, and the first', value: pageMs, unit: 'ms', most: 5 },
    { name: '  a reorganisation of 100 blocks of them', value: backMs, unit: 'ms', most: 500 },
  ];
}

export async function benchCatalog(largest: number): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const path = join(folder, 'catalog.sqlite');
  const figures: Figure[] = [];
  let catalog = open(path);
  try {
    catalog.chain.recordStart(1);
    insertMicroseconds(catalog, 1);
    const first = new Map<string, number>();
    const by = (name: string, value: number, unit: string): Figure[] => {
      const before = first.get(name) ?? value;
      first.set(name, before);
      return [
        { name: `  ${name}`, value, unit },
        { name: '    by that of 10,000', value: value / before, unit: '×', most: 2 },
      ];
    };
    for (let size = SMALLEST; size <= largest; size *= 10) {
      catalog.close();
      fill(path, size);
      catalog = open(path);
      insertMicroseconds(catalog, 1);
      figures.push({ name: `catalog of ${size.toLocaleString('en')}: resident`, value: residentMib(), unit: 'MiB' });
      for (const { name, blocks, groups } of GROUPINGS) {
        const insert = insertMicroseconds(catalog, groups, blocks);
        figures.push(...by(`insert ${name}, median`, insert.median, 'µs'));
        figures.push({ name: '    mean, with what is written back', value: insert.mean, unit: 'µs' });
      }
      figures.push(...by('look-up', lookUpMicroseconds(path, catalog), 'µs'));
      if (size === 1_000_000) figures.push(...(await benchAudit(path, catalog)));
    }
    figures.push(...benchRepeated(catalog));
    const most = process.resourceUsage().maxRSS / 1_024;
    figures.push({ name: 'catalog: most resident', value: most, unit: 'MiB', most: 300 });
    return figures;
  } finally {
    catalog.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a process of its own, with the daemon's bounds of memory. */
export async function benchCatalogApart(): Promise<Figure[]> {
  const { line } = await startAndReadLine('chain-catalog.ts', ['1000000', '--json'], NODE_FLAGS);
  return figuresOf.parse(JSON.parse(line));
}

if (import.meta.main) {
  const [largest = '1000000', asJson] = process.argv.slice(2);
  const figures = await benchCatalog(Number(largest));
  if (asJson === '--json') process.stdout.write(`${JSON.stringify(figures)}\n`);
  else for (const figure of figures) process.stdout.write(`${describe(figure)}\n`);
}
