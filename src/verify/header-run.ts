import { type BlockHash, parseBlockHash } from '../core/blob/ids.ts';
import { type FullHeader, parseHeaderHex } from './block-header.ts';
import type { ChainProfile } from './chain-profile.ts';
import { VerifyError } from './errors.ts';
import { checkHeaderWork, workInWords } from './header-work.ts';

/** A block that the caller trusts, from a source of its own. */
export interface Checkpoint {
  readonly height: number;
  readonly blockHash: BlockHash;
}

export interface HeaderRunRules {
  readonly checkpoint: Checkpoint;
  readonly profile: ChainProfile;
  /** Hashes that each header must have cost. */
  readonly leastWork: bigint;
}

interface RunEntry {
  readonly blockHash: BlockHash;
  readonly timeSeconds: number;
  /** 0 for the checkpoint itself, which is trusted and not checked. */
  readonly work: bigint;
}

/** A header's place in a run. */
export interface RunPlace {
  readonly height: number;
  /** Hashes that it takes to make this header and all that follow it in the run. */
  readonly workOnTop: bigint;
  /** Hashes that the chain does in a day around this header, by the clocks of the headers; null: too few of them. */
  readonly workADay: bigint | null;
}

const MAX_HEIGHT = 0x7fffffff;
const SECONDS_A_DAY = 86_400n;
/** Headers on each side that a day's work is taken from: about half a day of a chain with a block in 150 seconds. */
const HALF_A_DAY = 288;

/** Headers that follow each other from a checkpoint on, each with work that holds. Only `checkHeaderRun` makes one. */
export class HeaderRun {
  readonly checkpoint: Checkpoint;
  readonly firstHeight: number;
  readonly #entries: readonly RunEntry[];
  readonly #indexOf: ReadonlyMap<string, number>;

  constructor(checkpoint: Checkpoint, firstHeight: number, entries: readonly RunEntry[]) {
    this.checkpoint = checkpoint;
    this.firstHeight = firstHeight;
    this.#entries = entries;
    this.#indexOf = new Map(entries.map(({ blockHash }, index) => [blockHash, index]));
  }

  get lastHeight(): number {
    return this.firstHeight + this.#entries.length - 1;
  }

  /** null: the run has no such header. */
  placeOf(blockHash: BlockHash): RunPlace | null {
    const index = this.#indexOf.get(blockHash);
    if (index === undefined) return null;
    const workOnTop = sumOfWork(this.#entries.slice(index));
    return { height: this.firstHeight + index, workOnTop, workADay: this.#workADayAround(index) };
  }

  #workADayAround(index: number): bigint | null {
    const near = this.#entries.slice(Math.max(0, index - HALF_A_DAY), index + HALF_A_DAY + 1);
    const [first, last] = [near[0], near.at(-1)];
    if (first === undefined || last === undefined || last.timeSeconds <= first.timeSeconds) return null;
    return (sumOfWork(near.slice(1)) * SECONDS_A_DAY) / BigInt(last.timeSeconds - first.timeSeconds);
  }
}

/**
 * Checks that each header names the one before it, from the checkpoint on, and that the work of each holds and is enough.
 * The first header is the checkpoint's own or the one after it. Whether the chain asked for the target that a header names
 * is not checked: a run of forged headers costs at least `leastWork` for each, and `workOnTop` in all.
 * @throws VerifyError with the height in its details
 */
export function checkHeaderRun(headers: readonly FullHeader[], rules: HeaderRunRules): HeaderRun {
  const { checkpoint } = rules;
  const [first] = headers;
  if (first === undefined) throw new VerifyError('verify/header-run', 'The run has no header.');
  const begins = first.header.hash === checkpoint.blockHash;
  if (!begins && first.header.previousHash !== checkpoint.blockHash) {
    const message = `The run begins with header ${first.header.hash}, which is neither the checkpoint ${checkpoint.blockHash} nor the one after it.`;
    throw new VerifyError('verify/checkpoint', message, { details: { first: first.header.hash, checkpoint } });
  }
  const firstHeight = begins ? checkpoint.height : checkpoint.height + 1;
  let previous = first.header.previousHash;
  const entries = headers.map((full, index): RunEntry => {
    const { hash: blockHash, previousHash, timeSeconds } = full.header;
    const height = firstHeight + index;
    if (previousHash !== previous) {
      const message = `Header ${blockHash} at height ${height} of the run does not name ${previous} as the one before it.`;
      throw new VerifyError('verify/header-link', message, { details: { height, blockHash, previousHash } });
    }
    previous = blockHash;
    return { blockHash, timeSeconds, work: begins && index === 0 ? 0n : workAt(full, height, rules) };
  });
  return new HeaderRun(checkpoint, firstHeight, entries);
}

/**
 * One header a line, in hex, as `getblockheader <hash> false` answers it; empty lines count for nothing.
 * @throws VerifyError `verify/header-run`, with the line in its details
 */
export function parseHeaderLines(text: string): FullHeader[] {
  const headers: FullHeader[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const hex = line.trim();
    if (hex === '') continue;
    try {
      headers.push(parseHeaderHex(hex));
    } catch (cause) {
      if (!(cause instanceof VerifyError)) throw cause;
      const message = `Line ${index + 1} is no block header: ${cause.message}`;
      throw new VerifyError('verify/header-run', message, { details: { line: index + 1, reason: cause.code }, cause });
    }
  }
  return headers;
}

/** `<height>:<block hash>`. @throws VerifyError `verify/checkpoint` */
export function parseCheckpoint(text: string): Checkpoint {
  const [, digits = '', hash = ''] = /^(\d{1,10}):(?:0x)?([0-9a-fA-F]{64})$/.exec(text.trim()) ?? [];
  const height = Number(digits);
  if (hash === '' || height > MAX_HEIGHT) {
    const message = `"${text.slice(0, 100)}" is no checkpoint; one is written as <height>:<64 hex characters>.`;
    throw new VerifyError('verify/checkpoint', message);
  }
  return { height, blockHash: parseBlockHash(hash.toLowerCase()) };
}

function workAt(full: FullHeader, height: number, { profile, leastWork }: HeaderRunRules): bigint {
  const { hash: blockHash } = full.header;
  try {
    const work = checkHeaderWork(full, profile);
    if (work >= leastWork) return work;
    const message = `it shows ${workInWords(work)}; at least ${workInWords(leastWork)} is asked for.`;
    throw new VerifyError('verify/work-too-little', message);
  } catch (cause) {
    if (!(cause instanceof VerifyError)) throw cause;
    const message = `The header at height ${height} of the run does not count: ${cause.message}`;
    throw new VerifyError(cause.code, message, { details: { ...cause.details, height, blockHash }, cause });
  }
}

function sumOfWork(entries: readonly RunEntry[]): bigint {
  return entries.reduce((sum, { work }) => sum + work, 0n);
}
