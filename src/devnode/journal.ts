import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { HASH_TYPES } from '../core/blob/ids.ts';

const JOURNAL_FILE = 'chain.log';
const CHECKSUM_LENGTH = 8;

const ContentRecord = z.strictObject({
  hash: z.string(),
  type: z.enum(HASH_TYPES),
  size: z.int(),
  /** Label of bytes that are SHAKE256(label). Absent: the bytes are in the blob folder. */
  label: z.string().optional(),
});

const JournalEvent = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('begin'),
    format: z.literal(1),
    seed: z.string(),
    network: z.enum(['main', 'test']),
    startSeconds: z.int(),
    initialBlocks: z.int(),
  }),
  z.strictObject({
    do: z.literal('submit'),
    content: ContentRecord,
    acceptable: z.boolean(),
    fee: z.string().optional(),
  }),
  z.strictObject({
    do: z.literal('mine'),
    time: z.int(),
    selection: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('all') }),
      z.strictObject({ kind: z.literal('only'), txids: z.array(z.string()).readonly() }),
      z.strictObject({ kind: z.literal('except'), txids: z.array(z.string()).readonly() }),
    ]),
    withoutBytes: z.boolean(),
  }),
  z.strictObject({ do: z.literal('take-back'), depth: z.int() }),
  z.strictObject({ do: z.literal('drop'), txid: z.string() }),
  z.strictObject({ do: z.literal('replace'), txid: z.string(), content: ContentRecord }),
  z.strictObject({
    do: z.literal('send-assets'),
    wallet: z.string(),
    /** Guid, address, units and sats of each recipient. 64-bit numbers are text. */
    allocations: z.array(z.tuple([z.string(), z.string(), z.string(), z.string()])),
    replaceable: z.boolean(),
  }),
  z.strictObject({ do: z.literal('lock'), hash: z.string(), height: z.int() }),
  z.strictObject({ do: z.literal('lock-policy'), lagBlocks: z.int().nullable() }),
  z.strictObject({ do: z.literal('clock'), offsetSeconds: z.number() }),
]);

export type ContentRecord = z.infer<typeof ContentRecord>;
/** One change of the chain. Replaying all events in order rebuilds the same chain. */
export type JournalEvent = z.infer<typeof JournalEvent>;

/** Storage of events. */
export interface Journal {
  /** Events of earlier processes, oldest first. */
  readonly kept: readonly JournalEvent[];
  append(event: JournalEvent): void;
}

/** A journal that stores nothing. */
export const nullJournal: Journal = { kept: [], append: () => undefined };

/**
 * Opens a journal file: one line per event, with a checksum in front. A damaged line, as `kill -9` leaves it, ends the
 * journal, and the rest is cut off. Lines are not fsynced: a power loss may cost the end of the chain.
 */
export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, JOURNAL_FILE);
  if (!existsSync(path)) writeFileSync(path, '');
  const bytes = readFileSync(path);
  const kept: JournalEvent[] = [];
  let end = 0;
  for (let newline = bytes.indexOf(0x0a); newline >= 0; newline = bytes.indexOf(0x0a, end)) {
    const event = parseLine(bytes.toString('utf8', end, newline));
    if (event === null) break;
    kept.push(event);
    end = newline + 1;
  }
  if (end < bytes.length) truncateSync(path, end);
  return { kept, append: (event) => appendFileSync(path, line(event)) };
}

function line(event: JournalEvent): string {
  const text = JSON.stringify(event);
  return `${checksum(text)} ${text}\n`;
}

function parseLine(text: string): JournalEvent | null {
  const body = text.slice(CHECKSUM_LENGTH + 1);
  if (checksum(body) !== text.slice(0, CHECKSUM_LENGTH)) return null;
  return JournalEvent.parse(JSON.parse(body));
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0');
}
