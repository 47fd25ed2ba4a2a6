import { WINDOW_STATES, type WindowState } from '../../core/blob/window-state.ts';
import { Fields } from './fields.ts';
import { decodeStatus, type PageStatus } from './status.ts';

/** `final`: stored, in a final block. `unknown`: a state that this version of the page does not know. */
export type MarkState = WindowState | 'final' | 'unknown';

export interface PageBlob {
  readonly versionHash: string;
  readonly hashType: string | null;
  readonly txid: string | null;
  readonly sizeBytes: number | null;
  readonly state: MarkState;
  readonly copies: number;
}

export interface PageColumn {
  readonly blobs: readonly PageBlob[];
  readonly hasMore: boolean;
}

export interface PageBlock extends PageColumn {
  readonly height: number;
  readonly hash: string;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  readonly isFinal: boolean;
}

export interface BackendTally {
  readonly backend: string;
  readonly counts: boolean;
  readonly good: number;
  readonly wanted: number;
  readonly damaged: number;
}

interface Frame {
  /** Time of the archive's clock at which the window was true; ISO 8601. */
  readonly at: string;
  readonly revision: string;
  readonly retentionSeconds: number;
  readonly tip: { readonly height: number; readonly medianTimeSeconds: number } | null;
  readonly blocksNotDrawn: number;
  readonly waiting: PageColumn;
  readonly atRisk: number;
  readonly backends: readonly BackendTally[];
  readonly status: PageStatus;
}

export interface PageWindow extends Frame {
  /** Blocks in the order of the chain. */
  readonly blocks: readonly PageBlock[];
}

/** @throws UnexpectedAnswer */
export function decodeWindow(value: unknown): PageWindow {
  const window = Fields.of(value, 'window');
  return { ...decodeFrame(window), blocks: inOrder(window.list('blocks', decodeBlock)) };
}

/**
 * Applies an event `change` to a window.
 * @throws UnexpectedAnswer
 */
export function changeWindow(before: PageWindow, value: unknown): PageWindow {
  const change = Fields.of(value, 'change');
  const lowest = change.numberOrNull('lowest') ?? Number.POSITIVE_INFINITY;
  const highest = change.numberOrNull('highest') ?? Number.NEGATIVE_INFINITY;
  const changed = change.list('changed', decodeBlock);
  const replaced = new Set(changed.map(({ height }) => height));
  const kept = before.blocks.filter(({ height }) => height >= lowest && height <= highest && !replaced.has(height));
  return { ...decodeFrame(change), blocks: inOrder([...kept, ...changed]) };
}

/**
 * Seconds on the chain's clock until the node may prune the blobs of this block. Negative when it may have pruned them.
 */
export function secondsLeft({ tip, retentionSeconds }: PageWindow, block: PageBlock): number {
  return block.medianTimeSeconds + retentionSeconds - (tip?.medianTimeSeconds ?? block.medianTimeSeconds);
}

/** Counts the marks in each state. */
export function countStates(columns: readonly PageColumn[]): Map<MarkState, number> {
  const counts = new Map<MarkState, number>();
  for (const { blobs } of columns) {
    for (const { state } of blobs) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

function inOrder(blocks: PageBlock[]): PageBlock[] {
  return blocks.sort((a, b) => a.height - b.height);
}

function decodeFrame(frame: Fields): Frame {
  const tip = frame.innerOrNull('tip');
  return {
    at: frame.text('at'),
    revision: frame.text('revision'),
    retentionSeconds: frame.number('retentionSeconds'),
    tip: tip && { height: tip.number('height'), medianTimeSeconds: tip.number('medianTimeSeconds') },
    blocksNotDrawn: frame.number('blocksNotDrawn'),
    waiting: decodeColumn(frame.inner('waiting'), false),
    atRisk: frame.number('atRisk'),
    backends: frame.list('backends', decodeTally),
    status: decodeStatus(frame.inner('status')),
  };
}

function decodeTally(value: unknown): BackendTally {
  const tally = Fields.of(value, 'backend');
  return {
    backend: tally.text('backend'),
    counts: tally.flag('counts'),
    good: tally.number('good'),
    wanted: tally.number('wanted'),
    damaged: tally.number('damaged'),
  };
}

function decodeBlock(value: unknown): PageBlock {
  const block = Fields.of(value, 'block');
  const isFinal = block.flag('isFinal');
  return {
    height: block.number('height'),
    hash: block.text('hash'),
    timeSeconds: block.number('timeSeconds'),
    medianTimeSeconds: block.number('medianTimeSeconds'),
    isFinal,
    ...decodeColumn(block, isFinal),
  };
}

function decodeColumn(column: Fields, isFinal: boolean): PageColumn {
  const blobs = column.list('blobs', (value): PageBlob => {
    const blob = Fields.of(value, 'blob');
    const state = blob.word('state', WINDOW_STATES);
    return {
      versionHash: blob.text('versionHash'),
      hashType: blob.textOrNull('hashType'),
      txid: blob.textOrNull('txid'),
      sizeBytes: blob.numberOrNull('sizeBytes'),
      state: state === 'stored' && isFinal ? 'final' : state,
      copies: blob.number('copies'),
    };
  });
  return { blobs, hasMore: column.flag('hasMore') };
}
