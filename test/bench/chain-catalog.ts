/**
 * The catalog as the chain grows: look-up and insert from 10⁴ to 10⁷ occurrences, the audit of 10⁶ against a plain scan
 * of the same rows, and one content with 500,000 occurrences. Words: most occurrences (default 10⁶).
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { parseBlockHash, parseTxId, parseVersionHash, type VersionHash } from '../../src/blob/ids.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';

const most = Number(process.argv[2] ?? 1_000_000);
const PER_BLOCK = 32;
const GROUP_BLOCKS = 16;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
const path = join(folder, 'catalog.sqlite');
const catalog = Catalog.open({
  path,
  migrationsFolder: fileURLToPath(new URL('../../migrations', import.meta.url)),
  backends: ['local'],
  replicasRequired: 1,
  nowMs: Date.now,
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const blockHash = (height: number) => parseBlockHash(createHash('sha256').update(`block ${height}`).digest('hex'));
const some: VersionHash[] = [];

function block(height: number, name: () => string): WalkedBlock {
  const occurrences = Array.from({ length: PER_BLOCK }, (_, transactionIndex) => {
    const versionHash = parseVersionHash(name());
    if (transactionIndex === 0 && some.length < 20_000) some.push(versionHash);
    const txid = parseTxId(randomBytes(32).toString('hex'));
    return { versionHash, hashType: 'keccak256' as const, txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
  });
  const times = { timeSeconds: height, medianTimeSeconds: height };
  return { height, hash: blockHash(height), previousHash: blockHash(height - 1), ...times, occurrences, unclear: [] };
}

/** Walks, takes over and proves, as the daemon does it: in groups. Gives microseconds an occurrence for the walk alone. */
function grow(from: number, blocks: number): number {
  let walkMs = 0;
  for (let height = from; height < from + blocks; height += GROUP_BLOCKS) {
    const group = Array.from({ length: GROUP_BLOCKS }, (_, index) => height + index).map((at) =>
      block(at, () => randomBytes(32).toString('hex')),
    );
    const begun = performance.now();
    catalog.chain.recordBlocks(group, () => false);
    walkMs += performance.now() - begun;
    const names = group.flatMap(({ occurrences }) => occurrences);
    catalog.recordSpooled(
      names.map((name) => ({ ...name, sizeBytes: 9, txid: null, medianTimeSeconds: 1, firstSeenMs: 1 })),
    );
    catalog.recordProven(
      'local',
      names.flatMap(({ versionHash }) => catalog.find(versionHash)),
    );
    catalog.records.recordWritten(
      catalog.records.due({ height: -1, transactionIndex: -1 }, height + GROUP_BLOCKS, PER_BLOCK * GROUP_BLOCKS),
    );
  }
  return (walkMs * 1_000) / (blocks * PER_BLOCK);
}

function lookUp(): number {
  const begun = performance.now();
  for (const versionHash of some) catalog.chain.firstHeight({ versionHash, hashType: 'keccak256' });
  return ((performance.now() - begun) * 1_000) / some.length;
}

catalog.chain.recordStart(1);
let height = 1;
for (let size = 10_000; size <= most; size *= 10) {
  const blocks = Math.ceil(size / PER_BLOCK / GROUP_BLOCKS) * GROUP_BLOCKS - (height - 1);
  const insert = grow(height, blocks);
  height += blocks;
  lookUp();
  say(`${size} occurrences: insert ${insert.toFixed(1)} µs, look-up ${lookUp().toFixed(1)} µs`);
}
const plain = new Database(path, { readonly: true });
for (let round = 0; round < 3; round += 1) {
  const scanBegun = performance.now();
  plain.prepare('SELECT COUNT(*), SUM(vout), MAX(txid) FROM occurrence NOT INDEXED').get();
  const scanMs = performance.now() - scanBegun;
  const iterateBegun = performance.now();
  let rows = 0;
  for (const _ of plain.prepare('SELECT * FROM occurrence NOT INDEXED').iterate()) rows += 1;
  const iterateMs = performance.now() - iterateBegun;
  const auditBegun = performance.now();
  const tally = catalog.audit.tally(1, height);
  const auditMs = performance.now() - auditBegun;
  say(
    `audit of ${tally.occurrences.stored}: ${auditMs.toFixed(0)} ms; plain scan inside SQLite ${scanMs.toFixed(0)} ms, of ${rows} rows read ${iterateMs.toFixed(0)} ms`,
  );
}
plain.close();

const same = randomBytes(32).toString('hex');
const repeated = Math.ceil(500_000 / PER_BLOCK);
let begun = performance.now();
for (let at = height; at < height + repeated; at += 64) {
  catalog.chain.recordBlocks(
    Array.from({ length: Math.min(64, height + repeated - at) }, (_, index) => block(at + index, () => same)),
    () => false,
  );
}
say(`500,000 occurrences of one content: walked in ${(performance.now() - begun).toFixed(0)} ms`);
const name = { versionHash: parseVersionHash(same), hashType: 'keccak256' as const };
catalog.chain.useFinality('chainlock');
begun = performance.now();
catalog.chain.recordFinal(height + repeated - 1);
const finalMs = performance.now() - begun;
begun = performance.now();
catalog.chain.occurrences(name, { height: height + repeated / 2, transactionIndex: 3 }, 17);
catalog.chain.firstHeight(name);
say(
  `all of them final in ${finalMs.toFixed(2)} ms; a page and the first in ${(performance.now() - begun).toFixed(2)} ms`,
);
begun = performance.now();
catalog.chain.takeBack(height + repeated - 101);
say(`a reorganisation of 100 blocks of them: ${(performance.now() - begun).toFixed(1)} ms`);
say(`resident ${(process.memoryUsage().rss / 1_048_576).toFixed(0)} MiB`);
catalog.close();
rmSync(folder, { recursive: true });
