import { type MarkState, type PageBlock, type PageColumn, type PageWindow, secondsLeft } from './window.ts';

/** The rectangle of one blob. Its state decides the fill. */
export interface Mark {
  readonly state: MarkState;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface LaidColumn {
  /** The block of this column; null for the blobs that wait for a block. */
  readonly block: PageBlock | null;
  readonly x: number;
  readonly width: number;
  readonly marks: readonly Mark[];
  /** true when the column has a blob at risk or lost. */
  readonly isAlarming: boolean;
  readonly hasMore: boolean;
}

export interface PictureLayout {
  readonly width: number;
  readonly height: number;
  readonly plotTop: number;
  readonly plotBottom: number;
  readonly plotLeft: number;
  readonly plotRight: number;
  readonly columns: readonly LaidColumn[];
  /** The seconds left until each block's deadline, as points of a line. */
  readonly slack: readonly { readonly x: number; readonly y: number }[];
  readonly hours: readonly { readonly label: string; readonly y: number }[];
  readonly heights: readonly { readonly label: string; readonly x: number }[];
  /** The node may have pruned the blocks left of this x; null when none of them is drawn. */
  readonly prunedX: number | null;
  /** The oldest block with a missing blob; null when none is missing. */
  readonly urgent: { readonly x: number; readonly secondsLeft: number } | null;
  /** Number of older blocks that do not fit. */
  readonly hidden: number;
}

const TOP = 18;
const BOTTOM = 30;
const LEFT = 6;
const RIGHT = 40;
/**
 * Smallest column width in pixels: a main network's window then fits a narrow phone. Narrower columns are
 * indistinguishable.
 */
const MIN_PITCH = 1.6;
const MAX_PITCH = 22;
/** Width of the column of waiting blobs, in columns. Half a column separates it from the blocks. */
const WAITING_COLUMNS = 1.5;
const MAX_MARK_HEIGHT = 14;
/** Rows of the tallest column at least, so that few blobs do not make tall marks. */
const MIN_ROWS = 12;
const LABEL_EVERY = 90;
const UNSAVED: readonly MarkState[] = ['seen', 'at-risk', 'unknown'];
const ALARMING: readonly MarkState[] = ['at-risk', 'lost'];

/** Computes every position, in pixels. */
export function layOut(window: PageWindow, width: number, height: number): PictureLayout {
  const [plotTop, plotBottom, plotLeft, plotRight] = [TOP, height - BOTTOM, LEFT, Math.max(LEFT + 40, width - RIGHT)];
  const most = Math.max(1, Math.floor((plotRight - plotLeft) / MIN_PITCH - WAITING_COLUMNS));
  const blocks = window.blocks.slice(-most);
  const pitch = Math.min(MAX_PITCH, (plotRight - plotLeft) / (blocks.length + WAITING_COLUMNS));
  const start = plotRight - pitch * (blocks.length + WAITING_COLUMNS);
  const rows = Math.max(MIN_ROWS, ...[...blocks, window.waiting].map(({ blobs }) => blobs.length));
  const markHeight = Math.min(MAX_MARK_HEIGHT, (plotBottom - plotTop) / rows);
  const at = (index: number) => start + index * pitch;
  const place = (column: PageColumn, block: PageBlock | null, x: number): LaidColumn => ({
    block,
    x,
    width: pitch,
    hasMore: column.hasMore,
    isAlarming: column.blobs.some(({ state }) => ALARMING.includes(state)),
    marks: column.blobs.map(({ state }, index) => ({
      state,
      x: x + pitch * 0.1,
      y: plotBottom - (index + 1) * markHeight + markHeight * 0.12,
      width: pitch * 0.8,
      height: markHeight * 0.76,
    })),
  });
  const left = blocks.map((block) => secondsLeft(window, block));
  const slackY = (seconds: number) =>
    plotBottom -
    (Math.min(Math.max(seconds, 0), window.retentionSeconds) / window.retentionSeconds) * (plotBottom - plotTop);
  const firstAlive = left.findIndex((seconds) => seconds >= 0);
  const urgentAt = blocks.findIndex(({ blobs }) => blobs.some(({ state }) => UNSAVED.includes(state)));
  return {
    width,
    height,
    plotTop,
    plotBottom,
    plotLeft,
    plotRight,
    columns: [
      ...blocks.map((block, index) => place(block, block, at(index))),
      place(window.waiting, null, at(blocks.length + 0.5)),
    ],
    slack: left.map((seconds, index) => ({ x: at(index + 0.5), y: slackY(seconds) })),
    hours: [0, 2, 4, 6]
      .filter((hours) => hours * 3_600 <= window.retentionSeconds)
      .map((hours) => ({ label: `${hours} h`, y: slackY(hours * 3_600) })),
    heights: heightLabels(blocks, at),
    prunedX: firstAlive <= 0 ? null : at(firstAlive),
    urgent: urgentAt < 0 ? null : { x: at(urgentAt + 0.5), secondsLeft: left[urgentAt] ?? 0 },
    hidden: window.blocks.length - blocks.length + window.blocksNotDrawn,
  };
}

function heightLabels(blocks: readonly PageBlock[], at: (index: number) => number) {
  const pitch = at(1) - at(0);
  const every = Math.max(1, Math.ceil(LABEL_EVERY / pitch));
  return blocks.flatMap(({ height }, index) =>
    (blocks.length - 1 - index) % every === 0 ? [{ label: height.toLocaleString('en'), x: at(index + 0.5) }] : [],
  );
}

/** The SVG path of a mark. States differ by shape as well as by colour. */
export function outline({ state, x, y, width, height }: Mark): string {
  const box = (left: number, top: number, wide: number, high: number) =>
    `M${round(left)} ${round(top)}h${round(wide)}v${round(high)}h${round(-wide)}z`;
  switch (state) {
    case 'final':
    case 'at-risk':
    case 'seen':
    case 'unknown':
      return box(x, y, width, height);
    case 'stored':
      return box(x, y + height * 0.15, width, height * 0.7);
    case 'spooled':
      return box(x, y + height * 0.4, width, height * 0.6);
    case 'not-archived-by-rule':
    case 'withheld':
      return box(x, y + height * 0.38, width, Math.max(1, height * 0.24));
    case 'custom':
      return `M${round(x + width / 2)} ${round(y)}l${round(width / 2)} ${round(height / 2)}l${round(-width / 2)} ${round(height / 2)}l${round(-width / 2)} ${round(-height / 2)}z`;
    case 'lost':
      return `M${round(x)} ${round(y)}l${round(width)} ${round(height)}M${round(x + width)} ${round(y)}l${round(-width)} ${round(height)}`;
    default:
      return state satisfies never;
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
