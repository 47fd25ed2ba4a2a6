import { randomUUID } from 'node:crypto';
import type { ArchiveStatus, ArchiveView } from '../view/archive-view.ts';
import type { WindowBlock, WindowPicture, WindowView } from '../view/window-view.ts';
import {
  type BlockOnWire,
  blockOnWire,
  type ColumnOnWire,
  type FrameOnWire,
  frameOnWire,
  type WindowChangeOnWire,
  type WindowOnWire,
} from './window-on-wire.ts';

/** However many ask, the window is looked at no oftener. */
const LOOK_MS = 1_000;
/** A listener further behind gets the whole, which is made once for all: each of these is made by itself. */
const MAX_BEHIND = 30;

interface KnownBlock {
  readonly block: WindowBlock;
  readonly wire: BlockOnWire;
  readonly text: string;
  /** The number of the revision that brought it. */
  readonly since: number;
}

/**
 * The window as of now, numbered: a listener with an earlier revision is told only what changed since. Made once for all who
 * ask; an answer for one of them is a filter over what is there.
 */
export class WindowFeed {
  readonly #view: Pick<ArchiveView, 'status'>;
  readonly #window: WindowView;
  readonly #nowMs: () => number;
  /** Revisions of another process count for nothing. */
  readonly #epoch = randomUUID();
  #number = 0;
  #lookedMs: number | null = null;
  #picture: WindowPicture | null = null;
  #essence = '';
  #frame: FrameOnWire | null = null;
  #blocks = new Map<number, KnownBlock>();
  /** Answers made of the frame that is there now, by the revision that they begin at. */
  readonly #made = new Map<string, Buffer>();
  /** Digests of what passes a filter of states, by those states. They go with the block. */
  readonly #digests = new WeakMap<ColumnOnWire, Map<string, string>>();

  constructor(view: Pick<ArchiveView, 'status'>, window: WindowView, nowMs: () => number) {
    this.#view = view;
    this.#window = window;
    this.#nowMs = nowMs;
  }

  /** Changes whenever there is news. */
  get revision(): string {
    return `${this.#epoch}.${this.#number}`;
  }

  /** The whole window, as JSON. Throws what the archive throws. */
  whole(): Buffer {
    this.#look();
    return this.#once('', () => this.window());
  }

  /** The changes since that revision, as JSON; null: it is not this archive's, or too old, and takes the whole. */
  changesSince(revision: string): Buffer | null {
    this.#look();
    const since = this.#numberOf(revision);
    return since === null ? null : this.#once(String(since), () => this.#changeAfter(since));
  }

  /** The whole window, for an answer that names only some of it. */
  window(): WindowOnWire {
    const frame = this.#look();
    return { ...frame, blocks: [...this.#blocks.values()].map(({ wire }) => wire) };
  }

  /** Gives what `changesSince` does, for an answer that names only some of it. */
  changeSince(revision: string): WindowChangeOnWire | null {
    this.#look();
    const since = this.#numberOf(revision);
    return since === null ? null : this.#changeAfter(since);
  }

  /** The digest of what of this block, or of what waits, passes a filter: made once for all listeners with the same one. */
  digest(told: ColumnOnWire, filter: string, make: () => string): string {
    const known = this.#digests.get(told) ?? new Map<string, string>();
    this.#digests.set(told, known);
    const digest = known.get(filter) ?? make();
    known.set(filter, digest);
    return digest;
  }

  #changeAfter(since: number): WindowChangeOnWire {
    const frame = this.#look();
    const heights = [...this.#blocks.keys()];
    const changed = [...this.#blocks.values()].filter((block) => block.since > since).map(({ wire }) => wire);
    return { ...frame, lowest: heights.at(0) ?? null, highest: heights.at(-1) ?? null, changed };
  }

  /** null: the revision is not this archive's, or so old that the whole window is told instead. */
  #numberOf(revision: string): number | null {
    const [epoch, digits = ''] = revision.split('.');
    const since = Number(digits);
    if (epoch !== this.#epoch || !/^\d{1,15}$/.test(digits) || since > this.#number) return null;
    return since < this.#number - MAX_BEHIND ? null : since;
  }

  /** Many who come back after one interruption want the same. */
  #once(key: string, make: () => WindowOnWire | WindowChangeOnWire): Buffer {
    const made = this.#made.get(key) ?? Buffer.from(JSON.stringify(make()));
    this.#made.set(key, made);
    return made;
  }

  #look(): FrameOnWire {
    const nowMs = this.#nowMs();
    if (this.#frame !== null && this.#lookedMs !== null && Math.abs(nowMs - this.#lookedMs) < LOOK_MS) {
      return this.#frame;
    }
    const picture = this.#window.picture();
    const status = this.#view.status();
    if (this.#takeBlocks(picture) || essenceOf(picture, status) !== this.#essence) this.#number += 1;
    this.#essence = essenceOf(picture, status);
    this.#lookedMs = nowMs;
    this.#made.clear();
    const at = new Date(nowMs).toISOString();
    this.#frame = frameOnWire(picture, status, { at, revision: this.revision });
    return this.#frame;
  }

  /** true: a block came, went, or is another now. */
  #takeBlocks(picture: WindowPicture): boolean {
    if (picture === this.#picture) return false;
    this.#picture = picture;
    const before = this.#blocks;
    const next = this.#number + 1;
    this.#blocks = new Map(
      picture.blocks.map((block) => {
        const known = before.get(block.height);
        if (known?.block === block) return [block.height, known];
        const wire = blockOnWire(block);
        const text = JSON.stringify(wire);
        return [block.height, { block, wire, text, since: known?.text === text ? known.since : next }];
      }),
    );
    return before.size !== this.#blocks.size || [...this.#blocks.values()].some(({ since }) => since === next);
  }
}

/** The members that count as a change of the archive: not that the node was asked once more, nor how much of the disk is free. */
function essenceOf({ blocks: _, ...frame }: WindowPicture, { node, local: _local, ...status }: ArchiveStatus): string {
  const { lastAnswerAt: _at, calls: _calls, ...rest } = node;
  return JSON.stringify([frame, rest, status]);
}
