/**
 * The inventory of 10⁶ final occurrences: `npm run bench -- inventory`. Time and memory by those of one plain scan of the
 * same rows and of one hash over the bytes that the digests are made of.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inventoryOf } from '../../src/federation/inventory-of-range.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { fill, insertMicroseconds, open } from './chain-catalog.ts';
import type { Figure } from './figure.ts';

const MIB = 1_048_576;
const ROUNDS = 3;

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
    return [
      { name: 'inventory: occurrences', value: occurrences, unit: '' },
      { name: '  processor time of a root', value: Math.min(...seconds), unit: 's', most: 2 },
      { name: '  memory grown by', value: grown, unit: 'MiB', most: 50 },
      { name: '  bytes of the answer', value: bytes, unit: 'B', most: 65_536 },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
