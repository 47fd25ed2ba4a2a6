import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { HashType } from '../../../src/core/blob/ids.ts';
import type { Devnode } from '../../../src/devnode/index.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf } from '../archive-process.ts';
import { holdfastHere } from '../holdfast-here.ts';
import { type Ended, HoldfastProcess } from '../holdfast-process.ts';

const BLOCK_SECONDS = 150;
const WINDOW_BLOCKS = 160;

export interface OldBlob {
  readonly versionHash: string;
  readonly hashType: HashType;
  readonly bytes: Uint8Array;
  readonly height: number;
}

/** Blocks two and a half minutes apart, with so many blobs each, of either hash type. */
export function publishBlocks(
  node: Devnode,
  label: string,
  blocks: number,
  perBlock: number,
  sizeBytes = 200,
): OldBlob[] {
  const published: OldBlob[] = [];
  for (let block = 0; block < blocks; block += 1) {
    const submitted = Array.from({ length: perBlock }, (_, index) => {
      const bytes = sampleBytes(`${label} ${block} ${index}`, sizeBytes + index);
      const hashType: HashType = index % 3 === 2 ? 'blake2s256' : 'keccak256';
      return { ...node.submitBlob(bytes, { hashType }), hashType, bytes };
    });
    node.advanceSeconds(BLOCK_SECONDS);
    const [mined] = node.mine();
    for (const { versionHash, hashType, bytes } of submitted) {
      published.push({ versionHash, hashType, bytes, height: mined?.height ?? -1 });
    }
  }
  return published;
}

/** Blocks until the node has pruned all that was published before, and a walk that begins now begins behind it. */
export function passTime(node: Devnode): void {
  for (let block = 0; block < WINDOW_BLOCKS; block += 1) {
    node.advanceSeconds(BLOCK_SECONDS);
    node.mine();
  }
}

/** Files named by their version hash, as a user may have kept them. */
export function folderOf(blobs: readonly OldBlob[]): string {
  const folder = join(temporaryFolder(), 'kept');
  for (const { hashType, versionHash, bytes } of blobs) {
    const file = join(folder, hashType, versionHash);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  return folder;
}

export interface BackfillSetup {
  readonly node: { readonly url: string };
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
}

const answers = z.array(z.object({ source: z.string(), answered: z.string() }));
const report = z.object({
  event: z.literal('report'),
  exitCode: z.number(),
  range: z.object({ from: z.number(), to: z.number() }),
  wanted: z.number(),
  fetched: z.number(),
  fetchedBytes: z.number(),
  foundHere: z.number(),
  missingCount: z.number(),
  missing: z.array(z.object({ versionHash: z.string(), height: z.number(), answers })),
  unaskedCount: z.number(),
  notStored: z.number(),
  recordsWaiting: z.number(),
  recordedLost: z.number(),
  evidenceWaiting: z.number(),
  sources: z.array(
    z.looseObject({ source: z.string(), gave: z.number(), wrongBytes: z.number(), noAnswer: z.number() }),
  ),
});
const event = z.looseObject({ event: z.string() });

export interface BackfillEnd extends Ended {
  readonly events: z.output<typeof event>[];
  /** The report of a run that came to its end. */
  readonly report: z.output<typeof report>;
}

/** `holdfast backfill --json`, to its end. */
export async function backfill(setup: BackfillSetup, ...words: string[]): Promise<BackfillEnd> {
  const ended = await holdfastHere(['backfill', '--json', ...words], { env: environmentOf(setup) });
  const events = eventsIn(ended.stdout);
  const last = report.safeParse(events.at(-1));
  if (!last.success)
    throw new Error(`no report (exit code ${ended.code}):\n${ended.stdout.slice(-2_000)}${ended.stderr}`);
  return { ...ended, events, report: last.data };
}

export function eventsIn(stdout: string) {
  return stdout
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => event.parse(JSON.parse(line)));
}

/** The same, under way. */
export function startBackfill(setup: BackfillSetup, ...words: string[]): HoldfastProcess {
  return new HoldfastProcess(['backfill', '--json', ...words], { env: environmentOf(setup) });
}
