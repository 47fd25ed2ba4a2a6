/**
 * A walk over history against bare `getblock` calls of the same blocks. The emulated node runs in a process of its own and
 * costs the same in both. Words: blocks (default 3,000), blobs in each (default 12).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createBlobNode } from '../../src/node/index.ts';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { describe, type Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

/** Calls that the walk has ahead. */
const LOOK_AHEAD = 4;
const NEVER = new AbortController().signal;
const started = z.object({ url: z.string(), height: z.number() });
const walked = z.object({
  blocks: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMemoryBytes: z.number(),
});

export async function benchHistory(blocks = 3_000, blobs = 12): Promise<Figure[]> {
  const devnode = await startAndReadLine('history-node.ts', [String(blocks), String(blobs)]);
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    const { url, height } = started.parse(JSON.parse(devnode.line));
    // Before and after: what else the machine does hits both.
    const before = await bareRate(url, height);
    const daemon = await startAndReadLine('history-process.ts', [url, dataDir, String(height)], NODE_FLAGS);
    const walk = walked.parse(JSON.parse(daemon.line));
    await stopProcess(daemon);
    const bare = (before + (await bareRate(url, height))) / 2;
    const rate = walk.blocks / walk.seconds;
    return [
      { name: 'history: bare getblock', value: bare, unit: 'blocks/s' },
      { name: 'history: the walk, recorded durably', value: rate, unit: 'blocks/s' },
      { name: 'history: the walk by bare getblock', value: rate / bare, unit: '', least: 0.8 },
      { name: 'history: CPU of the daemon', value: walk.cpuSeconds, unit: 's' },
      { name: 'history: most memory of the daemon', value: walk.peakMemoryBytes / 1_048_576, unit: 'MiB', most: 300 },
    ];
  } finally {
    await stopProcess(devnode);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The same questions, as many at a time, and nothing done with the answers. */
async function bareRate(url: string, height: number): Promise<number> {
  const node = createBlobNode({ url, connections: LOOK_AHEAD });
  const begun = performance.now();
  let next = 1;
  const ask = async () => {
    while (next <= height) {
      const at = next;
      next += 1;
      const hash = await node.blockHashAt(at, NEVER);
      if (hash !== null) await node.rawBlock(hash, NEVER);
    }
  };
  await Promise.all(Array.from({ length: LOOK_AHEAD }, ask));
  const seconds = (performance.now() - begun) / 1_000;
  await node.close();
  return height / seconds;
}

if (import.meta.main) {
  const [blocks, blobs] = process.argv.slice(2).map(Number);
  for (const figure of await benchHistory(blocks, blobs)) process.stdout.write(`${describe(figure)}\n`);
}
