/**
 * The inventory of 10⁶ final occurrences: `npm run bench -- inventory`. One plain scan of the same rows, and one
 * hash over the bytes of the digests, are the limits of time and memory. Then one of two archives lacks 100
 * blobs: it measures what it takes to find them, and what comparing and drawing four times a day costs of one core.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { AuditSnapshot } from '../../src/catalog/audit-snapshot.ts';
import { drawOccurrences } from '../../src/federation/audit-archive.ts';
import { compareInventories } from '../../src/federation/compare-inventories.ts';
import { occurrencesIn } from '../../src/federation/inventory-occurrence.ts';
import { inventoryOf } from '../../src/federation/inventory-of-range.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import { fill, insertMicroseconds, open } from './chain-catalog.ts';
import { cpuSeconds } from './cpu-time.ts';
import type { Figure } from './figure.ts';

const MIB = 1_048_576;
const ROUNDS = 3;
const DIFFERENCES = 100;
/** The default of HOLDFAST_PEER_SCHEDULE, and what is drawn after each comparison. */
const COMPARISONS_A_DAY = 4;
const DRAWS = 4;
const DAY_SECONDS = 86_400;
const NEVER = new AbortController().signal;

export async function benchInventory(occurrences = 1_000_000): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const path = join(folder, 'catalog.sqlite');
  try {
    const first = open(path);
    first.chain.recordStart(1);
    insertMicroseconds(first, 1, 4);
    first.close();
    fill(path, occurrences);
    const catalog = open(path);
    const hasher = await createNodeHasher();
    const before = process.memoryUsage.rss();
    const seconds: number[] = [];
    let grown = 0;
    let bytes = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const snapshot = catalog.snapshot();
      const begun = process.cpuUsage();
      const range = { from: 1, to: snapshot.branch().tipHeight ?? 1 };
      const found = await inventoryOf(snapshot, range, hasher, new AbortController().signal);
      const { user, system } = process.cpuUsage(begun);
      seconds.push((user + system) / 1e6);
      grown = Math.max(grown, (process.memoryUsage.rss() - before) / MIB);
      bytes = JSON.stringify(found).length;
      snapshot.close();
    }
    catalog.close();
    const compared = await compared100(path, hasher);
    return [
      { name: 'inventory: occurrences', value: occurrences, unit: '' },
      { name: '  processor time of a root', value: Math.min(...seconds), unit: 's', most: 2 },
      { name: '  memory grown by', value: grown, unit: 'MiB', most: 50 },
      { name: '  bytes of the answer', value: bytes, unit: 'B', most: 65_536 },
      { name: `  ${DIFFERENCES} differences: questions to the peer`, value: compared.questions, unit: '' },
      { name: '    and requests until whole', value: compared.questions + compared.lacking, unit: '', most: 200 },
      { name: '    bytes of all answers', value: compared.bytes, unit: 'B', most: MIB },
      { name: '    processor time, both archives', value: compared.comparing, unit: 's' },
      { name: `  ${DRAWS} draws, 2 MiB each`, value: compared.drawing, unit: 's' },
      {
        name: `  ${COMPARISONS_A_DAY} of both a day, of a core`,
        value: (100 * COMPARISONS_A_DAY * (compared.comparing + compared.drawing)) / DAY_SECONDS,
        unit: '%',
        most: 1,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Compares two archives with the same chain, of which one lacks 100 blobs, anywhere. */
async function compared100(path: string, hasher: BlobHasher) {
  const lackingPath = `${path}.lacking`;
  copyFileSync(path, lackingPath);
  const database = new Database(lackingPath);
  const spread = 'SELECT version_hash FROM occurrence ORDER BY random() LIMIT ?';
  const lacking = database.prepare(`UPDATE content SET state = 0 WHERE version_hash IN (${spread})`).run(DIFFERENCES);
  database.close();
  const [ours, theirs] = [open(lackingPath), open(path)];
  const [here, there] = [ours.snapshot(), theirs.snapshot()];
  try {
    const range = { from: 1, to: here.branch().tipHeight ?? 1 };
    let questions = 0;
    let bytes = 0;
    let found = 0;
    const begun = cpuSeconds();
    const answer = async (from: number, to: number) => {
      const inventory = await inventoryOf(there, { from, to }, hasher, NEVER);
      questions += 1;
      bytes += JSON.stringify(inventory).length;
      return inventory;
    };
    const own = (from: number, to: number) => inventoryOf(here, { from, to }, hasher, NEVER);
    for await (const one of compareInventories(range, own, answer))
      if (one.kind === 'different') found += one.ours.filter((held, at) => held !== one.theirs[at]).length;
    const comparing = cpuSeconds() - begun;
    if (found !== lacking.changes) throw new Error(`${lacking.changes} blobs are lacking, and ${found} were found.`);
    return { questions, bytes, lacking: found, comparing, drawing: await drawn(here, range, hasher) };
  } finally {
    for (const one of [here, there, ours, theirs]) one.close();
  }
}

/** Processor time of drawing from the chain, and of hashing what a peer would give. */
async function drawn(snapshot: AuditSnapshot, range: { from: number; to: number }, hasher: BlobHasher) {
  const blob = randomBytes(2 * MIB);
  const begun = cpuSeconds();
  const chain = {
    async blockAt(height: number) {
      const hash = snapshot.hashAt(height);
      const blocks = [...snapshot.inventory(height, height)].flat();
      return hash === null
        ? null
        : { hash, occurrences: blocks.flatMap((one) => occurrencesIn(one).map((read) => read())) };
    },
  };
  const found = await drawOccurrences(chain, { range, samples: DRAWS, random: (below) => randomInt(below) }, NEVER);
  for (const _ of found) hasher.keccak256(blob);
  return cpuSeconds() - begun;
}
