import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type NamedHash, parseNamedHash } from '../core/blob/ids.ts';
import { MAX_SCRIPT_BYTES } from '../core/blob/sender.ts';
import { WINDOW_STATES } from '../core/blob/window-state.ts';
import type { WindowFeed } from './window-feed.ts';
import type { BlockOnWire, ColumnOnWire, WindowChangeOnWire, WindowOnWire } from './window-on-wire.ts';

/** More of them make an address that is refused as too long. */
const [MAX_HASHES, MAX_SENDERS] = [16, 16];
const HASHES = '^(0[xX])?(01)?[0-9a-fA-F]{64}(,(0[xX])?(01)?[0-9a-fA-F]{64}){0,15}$';
const FILTER_STATES = [...WINDOW_STATES, 'final'] as const;
/** A sender of the filter that stands for blobs in blocks whose senders are not known. */
const UNKNOWN = 'unknown';
const SENDER = `((0[xX])?([0-9a-fA-F]{2}){1,${MAX_SCRIPT_BYTES}}|${UNKNOWN})`;
const SENDERS = `^${SENDER}(,${SENDER}){0,${MAX_SENDERS - 1}}$`;
const STATES = `^(${FILTER_STATES.join('|')})(,(${FILTER_STATES.join('|')}))*$`;

/** Strict: an ignored `hashes=` would look like a filter that nothing passes. */
export const EVENTS_QUERY = z.strictObject({
  hash: z
    .string('must be given once')
    .regex(new RegExp(HASHES), `must be 1 to ${MAX_HASHES} version hashes with commas between them`)
    .meta({ description: `Only blobs of these version hashes: at most ${MAX_HASHES}, with commas between them.` })
    .transform((text) => text.split(',').map(parseNamedHash))
    .optional(),
  state: z
    .string('must be given once')
    .regex(new RegExp(STATES), `must be some of ${FILTER_STATES.join(', ')} with commas between them`)
    .meta({
      description: `Only blobs in one of these states, with commas between them: ${FILTER_STATES.join(', ')}. A blob in a final block is final besides its other state.`,
    })
    .transform((text) => new Set(text.split(',')))
    .optional(),
  sender: z
    .string('must be given once')
    .regex(
      new RegExp(SENDERS),
      `must be 1 to ${MAX_SENDERS} scriptPubKeys in hex, or ${UNKNOWN}, with commas between them`,
    )
    .meta({
      description: `Only blobs in blocks whose transaction spends an output of one of these scriptPubKeys, in hex: at most ${MAX_SENDERS}, with commas between them. \`${UNKNOWN}\` adds blobs in blocks whose senders the archive could not learn: without it they do not pass. A blob that waits for its block passes no sender.`,
    })
    .transform((text) => new Set(text.split(',').map((one) => one.toLowerCase().replace(/^0x/, ''))))
    .optional(),
});

/** The blobs of the window that a listener wants to hear of: those that pass every filter that it gave. */
export type WindowFilter = z.output<typeof EVENTS_QUERY>;

export function isFiltering({ hash, state, sender }: WindowFilter): boolean {
  return hash !== undefined || state !== undefined || sender !== undefined;
}

/** An event for one listener, before it is encoded. */
export type WindowEvent =
  | { readonly name: 'window'; readonly data: WindowOnWire }
  | { readonly name: 'change'; readonly data: WindowChangeOnWire };

/** The part of a block that passes the filter of a listener. */
interface Passing {
  readonly block: BlockOnWire;
  /** null: no blob of it passes. */
  readonly digest: string | null;
}

/** The window as one listener with a filter sees it. Keeps a digest for each block that has a blob for the listener. */
export class FilteredWindow {
  readonly #feed: WindowFeed;
  readonly #filter: WindowFilter;
  /** Digests of the blocks that the listener has, by height. */
  readonly #told = new Map<number, string>();
  #toldWaiting = '';

  constructor(feed: WindowFeed, filter: WindowFilter) {
    this.#feed = feed;
    this.#filter = filter;
  }

  /** Blocks of which a digest is kept: no more than the window has. */
  get blocksKept(): number {
    return this.#told.size;
  }

  /** Every block that changed since that revision, with what passes the filter; else the whole window, filtered. */
  greeting(lastRevision: string): WindowEvent {
    // Read first: the feed may look again below, and what is remembered must not be newer than what is sent.
    const { blocks } = this.#feed.window();
    const change = this.#feed.changeSince(lastRevision);
    if (change === null) return this.#window();
    // The listener has every block that did not change from its earlier connection.
    this.#remember(this.#passing(blocks));
    // The listener may have had blobs of blocks that now have none for it.
    return this.#change(change, this.#passing(change.changed));
  }

  /** The changes since that revision that pass the filter; null: none did. */
  changesSince(since: string): WindowEvent | null {
    const change = this.#feed.changeSince(since);
    if (change === null) return this.#window();
    const { lowest, highest, waiting } = change;
    const heights = [...this.#told.keys()];
    // Blocks at the low end leave the window by age, which is no change to tell.
    for (const height of heights) if (lowest === null || height < lowest) this.#told.delete(height);
    const isTakenBack = heights.some((height) => highest === null || height > highest);
    const changed = this.#newTo(change);
    if (!isTakenBack && changed.length === 0 && this.#digest(waiting, this.#column(waiting)) === this.#toldWaiting)
      return null;
    return this.#change(change, changed);
  }

  /**
   * An event for a listener that was sent nothing for a while. The feed may look again for it: the event then has the changes
   * since that revision.
   */
  heartbeat(since: string): WindowEvent {
    const change = this.#feed.changeSince(since);
    return change === null ? this.#window() : this.#change(change, this.#newTo(change));
  }

  /** The changed blocks, without those that the listener has already. */
  #newTo({ changed }: WindowChangeOnWire): Passing[] {
    return this.#passing(changed).filter(({ block, digest }) => digest !== (this.#told.get(block.height) ?? null));
  }

  #window(): WindowEvent {
    const { blocks, waiting, ...frame } = this.#feed.window();
    const passing = this.#passing(blocks).filter(({ digest }) => digest !== null);
    this.#told.clear();
    this.#remember(passing);
    const named = passing.map(({ block }) => block);
    return { name: 'window', data: { ...frame, waiting: this.#rememberWaiting(waiting), blocks: named } };
  }

  #change({ waiting, ...change }: WindowChangeOnWire, passing: readonly Passing[]): WindowEvent {
    const { highest } = change;
    for (const height of this.#told.keys()) if (highest === null || height > highest) this.#told.delete(height);
    this.#remember(passing);
    const changed = passing.map(({ block }) => block);
    return { name: 'change', data: { ...change, waiting: this.#rememberWaiting(waiting), changed } };
  }

  #remember(passing: readonly Passing[]): void {
    for (const { block, digest } of passing) {
      if (digest !== null) this.#told.set(block.height, digest);
      else this.#told.delete(block.height);
    }
  }

  #rememberWaiting(waiting: ColumnOnWire): ColumnOnWire {
    const passing = this.#column(waiting);
    this.#toldWaiting = this.#digest(waiting, passing);
    return passing;
  }

  #passing(blocks: readonly BlockOnWire[]): Passing[] {
    return blocks.map((whole) => {
      const block = { ...whole, ...this.#column(whole, whole) };
      return { block, digest: block.blobs.length === 0 ? null : this.#digest(whole, block) };
    });
  }

  /** Few blobs pass a filter of hashes or senders, and hardly two listeners have the same one. One of states may pass everything. */
  #digest(whole: ColumnOnWire, passing: ColumnOnWire): string {
    const { hash, state = [], sender } = this.#filter;
    if (hash !== undefined || sender !== undefined) return digestOf(passing);
    const filter = passing.blobs.length === whole.blobs.length ? '' : [...state].toSorted().join(',');
    return this.#feed.digest(whole, filter, () => digestOf(passing));
  }

  /** `hasMore` stays as it is: blobs that the window does not name may pass the filter too. */
  #column({ blobs, hasMore }: ColumnOnWire, block: BlockOnWire | null = null): ColumnOnWire {
    const { hash, state, sender } = this.#filter;
    const passing = blobs.filter(
      (blob) =>
        (hash === undefined || hash.some((name) => isNamed(blob, name))) &&
        (state === undefined || state.has(blob.state) || (block?.isFinal === true && state.has('final'))) &&
        (sender === undefined || (block !== null && (blob.senders ?? [UNKNOWN]).some((script) => sender.has(script)))),
    );
    return { blobs: passing, hasMore };
  }
}

/** A list does not say which hash it is: such a blob passes by its version hash. */
function isNamed(blob: ColumnOnWire['blobs'][number], { versionHash, hashType }: NamedHash): boolean {
  const isSameType = hashType === null || blob.hashType === null || blob.hashType === hashType;
  return blob.versionHash === versionHash && isSameType;
}

function digestOf(told: ColumnOnWire): string {
  return createHash('sha256').update(JSON.stringify(told)).digest('base64');
}
