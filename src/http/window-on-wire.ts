import { z } from 'zod';
import { HASH_TYPES } from '../core/blob/ids.ts';
import { WINDOW_STATES } from '../core/blob/window-state.ts';
import type { ArchiveStatus } from '../view/archive-view.ts';
import type { BlobColumn, WindowBlock, WindowPicture } from '../view/window-view.ts';
import { HASH_TEXT } from './parameters.ts';

const BLOB = z.object({
  versionHash: HASH_TEXT,
  hashType: z.enum(HASH_TYPES).nullable(),
  txid: HASH_TEXT.nullable(),
  /** Left out while they are unknown. */
  senders: z.array(z.string()).optional(),
  sizeBytes: z.int().nullable(),
  state: z.enum(WINDOW_STATES),
  copies: z.int(),
});
const COLUMN = z.object({ blobs: z.array(BLOB), hasMore: z.boolean() });
const BLOCK = COLUMN.extend({
  height: z.int(),
  hash: HASH_TEXT,
  timeSeconds: z.int(),
  medianTimeSeconds: z.int(),
  isFinal: z.boolean(),
});
const BACKEND = z.object({
  backend: z.string(),
  counts: z.boolean(),
  good: z.int(),
  wanted: z.int(),
  damaged: z.int(),
});

/** The small members, sent whole whenever anything changes. */
const FRAME = z.object({
  /** When this was true; ISO 8601. */
  at: z.string(),
  /** The event to go on from. */
  revision: z.string(),
  retentionSeconds: z.int(),
  tip: z.object({ height: z.int(), medianTimeSeconds: z.int() }).nullable(),
  blocksNotDrawn: z.int(),
  waiting: COLUMN,
  atRisk: z.int(),
  backends: z.array(BACKEND),
  /** The status, as `/v1/status` has it. */
  status: z.looseObject({ version: z.string() }),
});

/** The window, whole: `GET /v1/window`, and the event `window`. */
export const WINDOW = FRAME.extend({ blocks: z.array(BLOCK) });

/** The event `change`: blocks outside of `lowest` to `highest` are gone, those in `changed` are new or replaced. */
export const WINDOW_CHANGE = FRAME.extend({
  lowest: z.int().nullable(),
  highest: z.int().nullable(),
  changed: z.array(BLOCK),
});

export type FrameOnWire = z.input<typeof FRAME>;
export type ColumnOnWire = z.input<typeof COLUMN>;
export type BlockOnWire = z.input<typeof BLOCK>;
export type WindowOnWire = z.input<typeof WINDOW>;
export type WindowChangeOnWire = z.input<typeof WINDOW_CHANGE>;

export function frameOnWire(
  picture: WindowPicture,
  status: ArchiveStatus,
  { at, revision }: Pick<FrameOnWire, 'at' | 'revision'>,
): FrameOnWire {
  const { retentionSeconds, tip, blocksNotDrawn, waiting, atRisk, backends } = picture;
  return {
    at,
    revision,
    retentionSeconds,
    tip: tip && { height: tip.height, medianTimeSeconds: tip.medianTimeSeconds },
    blocksNotDrawn,
    waiting: columnOnWire(waiting),
    atRisk,
    backends: backends.map(({ backend, counts, good, wanted, damaged }) => ({
      backend,
      counts,
      good,
      wanted,
      damaged,
    })),
    status: { ...status },
  };
}

export function blockOnWire(block: WindowBlock): BlockOnWire {
  const { height, hash, timeSeconds, medianTimeSeconds, isFinal } = block;
  return { height, hash, timeSeconds, medianTimeSeconds, isFinal, ...columnOnWire(block) };
}

function columnOnWire({ blobs, hasMore }: BlobColumn) {
  const named = blobs.map(({ versionHash, hashType, txid, senders, sizeBytes, state, copies }) => ({
    versionHash,
    hashType,
    txid,
    ...(senders === undefined ? {} : { senders: [...senders] }),
    sizeBytes,
    state,
    copies,
  }));
  return { blobs: named, hasMore };
}
