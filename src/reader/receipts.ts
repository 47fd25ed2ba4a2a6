import { messageOf } from '../core/blob/errors.ts';
import type { NamedHash } from '../core/blob/ids.ts';
import { Notifier } from '../core/notifier.ts';
import { keysOf } from '../verify/attestation.ts';
import { VerifyError } from '../verify/errors.ts';
import { checkReceipt, parseReceipt, type Receipt, type ReceiptStatement } from '../verify/receipt.ts';
import type { FetchFunction } from './bounded-fetch.ts';
import { ReaderError } from './errors.ts';
import { HoldfastSource } from './holdfast-source.ts';
import { accessTo, type SourceOptions } from './source.ts';

export interface ReceiptOptions {
  /** Archivers to ask. Each counts once, however many addresses it has. */
  readonly archives: readonly Omit<SourceOptions, 'kind'>[];
  /** Receipts to wait for, each of another archiver. */
  readonly count: number;
  /**
   * Public keys of archivers that the caller knows. With them, a receipt of any other archiver does not count. Without them,
   * an address is all that tells one archiver from another.
   */
  readonly keys?: readonly string[];
  /**
   * The caller's own look at what a receipt claims, for instance whether its block is on the chain of the caller's node.
   * Resolves to the reason why the receipt does not count yet, or to null.
   */
  readonly check?: (statement: ReceiptStatement, signal: AbortSignal) => Promise<string | null>;
  /** Milliseconds to wait for all of them. Default 1,800,000. */
  readonly timeoutMs?: number;
  /** Milliseconds between two questions to one archive. Default 2,000. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
  /** HTTP client. Default: the global `fetch`. */
  readonly fetch?: FetchFunction;
  /** Called whenever the state of one archive changes. */
  readonly onProgress?: (state: ArchiveReceipt) => void;
}

/** State of one archive. */
export type ArchiveReceipt =
  | { readonly archive: string; readonly outcome: 'receipt'; readonly receipt: Receipt }
  | {
      readonly archive: string;
      /**
       * `waiting`: it gave none yet, or one that the caller's check does not confirm. `refused`: it withholds the blob, or has
       * lost it. `same-archiver`: another address gave the receipt of this archiver. `lied`: what it gave is no receipt of this
       * blob, or not signed by a known key.
       */
      readonly outcome: 'waiting' | 'refused' | 'same-archiver' | 'lied';
      readonly says: string;
    };

export interface CollectedReceipts {
  /** true: as many archivers as were asked for gave a receipt. */
  readonly isEnough: boolean;
  /** Each archive, in the order of the addresses. */
  readonly archives: readonly ArchiveReceipt[];
}

const TIMEOUT_MS = 1_800_000;
const POLL_MS = 2_000;
const REQUEST_MS = 15_000;
/** Most characters that are kept of what an archive writes. */
const MAX_SAYS_CHARACTERS = 500;
/** Characters that can move a cursor, hide a line or begin another one. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Asks archives for their receipts of one blob until enough of them gave one that holds. Resolves also when the time is up,
 * with those that came. A receipt is the word of its archiver. An abort throws the signal's reason.
 * @throws ReaderError `reader/bad-source`, `reader/no-source`
 *
 * @example
 * const { isEnough } = await collectReceipts(name, { archives: [{ url }], count: 1, keys: [key] });
 */
export async function collectReceipts(name: NamedHash, options: ReceiptOptions): Promise<CollectedReceipts> {
  const { archives, count, signal } = options;
  if (!Number.isSafeInteger(count) || count < 1 || count > archives.length) throw tooFew(count, archives.length);
  const collection = new Collection(name, options);
  await collection.run(signal ?? new AbortController().signal);
  return collection.collected;
}

class Collection {
  readonly #name: NamedHash;
  readonly #options: ReceiptOptions;
  readonly #sources: readonly HoldfastSource[];
  readonly #states: ArchiveReceipt[];
  readonly #enough = new AbortController();
  readonly #pause = new Notifier();

  constructor(name: NamedHash, options: ReceiptOptions) {
    const fetching: FetchFunction = options.fetch ?? ((url, init) => fetch(url, init));
    this.#name = name;
    this.#options = options;
    this.#sources = options.archives.map(
      (archive) => new HoldfastSource(accessTo({ ...archive, kind: 'holdfast' }, fetching)),
    );
    this.#states = this.#sources.map((source) => waiting(source.name, 'It was not asked yet.'));
  }

  get collected(): CollectedReceipts {
    return { isEnough: this.#receipts.length >= this.#options.count, archives: [...this.#states] };
  }

  get #receipts(): Receipt[] {
    return this.#states.flatMap((state) => (state.outcome === 'receipt' ? [state.receipt] : []));
  }

  async run(signal: AbortSignal): Promise<void> {
    const timeUp = AbortSignal.timeout(this.#options.timeoutMs ?? TIMEOUT_MS);
    const ended = AbortSignal.any([signal, timeUp, this.#enough.signal]);
    await Promise.all(this.#sources.map((source, index) => this.#ask(source, index, ended)));
    signal.throwIfAborted();
  }

  /** Until it gave one, or will give none. */
  async #ask(source: HoldfastSource, index: number, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const state = await this.#stateOf(source, ended);
      if (ended.aborted) return;
      this.#note(index, state);
      if (state.outcome !== 'waiting') return;
      await this.#pause.wait(this.#options.pollMs ?? POLL_MS, ended);
    }
  }

  #note(index: number, found: ArchiveReceipt): void {
    const state = this.#ofAnother(found);
    const before = this.#states[index];
    const isSame = before?.outcome === state.outcome && state.outcome !== 'receipt' && 'says' in before;
    this.#states[index] = state;
    if (!isSame || before.says !== state.says) this.#options.onProgress?.(state);
    if (this.#receipts.length >= this.#options.count) this.#enough.abort();
  }

  /** One archiver counts once: its keys tell. */
  #ofAnother(state: ArchiveReceipt): ArchiveReceipt {
    if (state.outcome !== 'receipt') return state;
    const keys = keysOf(state.receipt);
    const isKnown = this.#receipts.some((other) => keysOf(other).some((key) => keys.includes(key)));
    if (!isKnown) return state;
    const says = `It is the archiver with the key ${state.receipt.statement.key}, of which there is a receipt already.`;
    return { archive: state.archive, outcome: 'same-archiver', says };
  }

  async #stateOf(source: HoldfastSource, ended: AbortSignal): Promise<ArchiveReceipt> {
    const archive = source.name;
    try {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(REQUEST_MS)]);
      const given = await source.receipt(this.#name, signal);
      if (given.kind === 'lost' || given.kind === 'withheld' || given.kind === 'not-archived-by-rule')
        return { archive, outcome: 'refused', says: inOneLine(given.says) };
      if (given.kind !== 'value') return waiting(archive, given.says);
      const receipt = parseReceipt(JSON.stringify(given.value));
      const steps = await checkReceipt(receipt, this.#options.keys ?? null, this.#name);
      const wrong = steps.find(({ ok }) => !ok);
      if (wrong !== undefined) return { archive, outcome: 'lied', says: wrong.says };
      const doubt = (await this.#options.check?.(receipt.statement, signal)) ?? null;
      return doubt === null ? { archive, outcome: 'receipt', receipt } : waiting(archive, doubt);
    } catch (error) {
      if (error instanceof VerifyError) return { archive, outcome: 'lied', says: inOneLine(error.message) };
      return waiting(archive, messageOf(error));
    }
  }
}

function waiting(archive: string, says: string): ArchiveReceipt {
  return { archive, outcome: 'waiting', says: inOneLine(says) };
}

/** The words of an archive are not trusted: they must not look like words of this program, nor fill the report. */
function inOneLine(says: string): string {
  return says.slice(0, MAX_SAYS_CHARACTERS).replaceAll(UNSHOWN, '\uFFFD');
}

function tooFew(count: number, archives: number): ReaderError {
  return new ReaderError(
    'reader/no-source',
    `${count} receipts cannot come from ${archives} archives.`,
    [],
    'Ask for at least one receipt, and name at least as many archives.',
  );
}
