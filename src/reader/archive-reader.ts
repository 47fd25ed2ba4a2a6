import { messageOf } from '../core/blob/errors.ts';
import { type NamedHash, parseNamedHash } from '../core/blob/ids.ts';
import { type BlobHasher, nobleHasher } from '../verify/hasher.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import type { ProofDemand } from '../verify/proof-level.ts';
import { type VerifiedBlob, verifyBlob } from '../verify/verified-blob.ts';
import type { FetchFunction } from './bounded-fetch.ts';
import { checkedProofs } from './checked-proofs.ts';
import { ReaderError, type SourceAnswer } from './errors.ts';
import { GatewaySource } from './gateway-source.ts';
import { type BlobPage, type BlobRecord, HoldfastSource, type Told } from './holdfast-source.ts';
import { NodeSource } from './node-source.ts';
import { firstOf } from './race.ts';
import { Reputation } from './reputation.ts';
import { SentinelSource } from './sentinel-source.ts';
import { accessTo, type BlobSource, type SourceKind, type SourceOptions } from './source.ts';

export interface ArchiveReaderOptions {
  /** Asked in the order of how fast they answer; who lied lately comes last. */
  readonly sources: readonly SourceOptions[];
  /** For one question to one source, its whole body included. Default 15,000. */
  readonly timeoutMs?: number;
  /** A source that has not answered by then gets company. Default 300. */
  readonly hedgeMs?: number;
  /** A lie counts half after so long. Default 600,000. */
  readonly forgiveMs?: number;
  /** Default: pure JavaScript, which runs anywhere. */
  readonly hasher?: BlobHasher;
  /** Default: the global one. */
  readonly fetch?: FetchFunction;
  readonly nowMs?: () => number;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
}

/** What is asked of the proofs, beside their bytes. */
export interface ProofOptions extends ReadOptions, ProofDemand {
  /** With the blob's bytes, a proof is shown to be of these bytes. */
  readonly bytes?: Uint8Array;
}

export interface SourceState {
  readonly source: string;
  readonly kind: SourceKind;
  readonly reachable: boolean;
  /** What it says of itself, or why it could not be asked. */
  readonly says: string;
  /** It gave something false lately. */
  readonly suspect: boolean;
}

interface Known<S extends BlobSource = BlobSource> {
  readonly source: S;
  readonly reputation: Reputation;
}

/** Reads from several archives, gateways and nodes as from one; believes none of them. */
export class ArchiveReader {
  readonly #known: readonly Known[];
  readonly #timeoutMs: number;
  readonly #hedgeMs: number;
  readonly #hasher: BlobHasher;

  constructor(options: ArchiveReaderOptions) {
    const { sources, fetch: fetching = (url, init) => fetch(url, init), nowMs = Date.now } = options;
    const reputation = { forgiveMs: options.forgiveMs ?? 600_000, nowMs };
    this.#known = sources.map((given) => ({
      source: sourceFrom(given, fetching),
      reputation: new Reputation(reputation),
    }));
    this.#timeoutMs = options.timeoutMs ?? 15_000;
    this.#hedgeMs = options.hedgeMs ?? 300;
    this.#hasher = options.hasher ?? nobleHasher;
    if (sources.length === 0) throw noSource('none is given');
  }

  /**
   * The bytes, proven. null: every source answered that it has not got them.
   * @throws ReaderError that names who answered what; on abort the signal's reason.
   */
  async read(id: string | NamedHash, options: ReadOptions = {}): Promise<VerifiedBlob | null> {
    const name = named(id);
    const answers: SourceAnswer[] = [];
    const blob = await this.#first(this.#known, options, answers, async ({ source, reputation }, signal) => {
      const given = await source.fetchBlob(name, signal);
      if (given.kind !== 'bytes') return { outcome: given.kind, says: given.says };
      for (const candidate of given.candidates) {
        const verified = verifyBlob(candidate, this.#hasher);
        if (verified !== null) return { value: verified };
      }
      reputation.lied();
      return { outcome: 'lied', says: 'what it gave is not what was asked for' };
    });
    return blob ?? absence(name, answers);
  }

  /** What an archive says of a blob: a claim, to be shown and not to be relied on. null: all archives say it is absent. */
  async record(id: string | NamedHash, options: ReadOptions = {}): Promise<BlobRecord | null> {
    const name = named(id);
    const answers: SourceAnswer[] = [];
    const record = await this.#first(this.#archives(), options, answers, async ({ source, reputation }, signal) => {
      const told = await source.record(name, signal);
      if (told.kind === 'told' && told.value.versionHash !== name.versionHash) {
        reputation.lied();
        return { outcome: 'lied', says: 'its record is of another blob' };
      }
      return said(told);
    });
    return record ?? absence(name, answers);
  }

  /**
   * Occurrence records that prove themselves up to the `level` that is asked for, of the first archive that gives some.
   * Default `inclusion`: anybody can make a header to be included in. `work` takes headers that cost at least the least
   * work, `chain` those of a run of headers (`checkHeaderRun`); else only a node can tell whether a header is on the chain
   * (`checkHeaderOnChain`). null: all archives say that the blob is absent.
   */
  async proofs(id: string | NamedHash, options: ProofOptions = {}): Promise<readonly OccurrenceRecord[] | null> {
    const name = named(id);
    const answers: SourceAnswer[] = [];
    const records = await this.#first(this.#archives(), options, answers, async ({ source, reputation }, signal) => {
      const told = await source.proofs(name, signal);
      if (told.kind !== 'told') return { outcome: told.kind, says: told.says };
      const checked = checkedProofs(told.value, name, options.bytes ?? null, options, this.#hasher);
      if (checked.kind === 'good') return { value: checked.records };
      if (checked.kind === 'too-little') return { outcome: 'no-answer', says: checked.says };
      reputation.lied();
      return { outcome: 'lied', says: checked.says };
    });
    return records ?? absence(name, answers);
  }

  /** All records of the first archive that lists, page by page; it stays with that archive. */
  async *list(options: ReadOptions & { readonly order?: 'newest' | 'oldest' } = {}): AsyncGenerator<BlobRecord> {
    const answers: SourceAnswer[] = [];
    const { order = 'newest' } = options;
    const signal = options.signal ?? new AbortController().signal;
    const first = await this.#first(this.#archives(), options, answers, async ({ source }, stop) => {
      const told = await source.page({ order }, stop);
      return told.kind === 'told' ? { value: { source, page: told.value } } : { outcome: told.kind, says: told.says };
    });
    if (first === null) throw unavailable('No archive lists its blobs now.', answers);
    for (let page: BlobPage = first.page; ; ) {
      yield* page.blobs;
      if (page.next === null) return;
      const next = await first.source.page({ order, after: page.next }, this.#deadline(signal));
      if (next.kind === 'told') page = next.value;
      else
        throw unavailable('The archive that was listed does not go on.', [
          answerOf(first.source, 'no-answer', next.says),
        ]);
    }
  }

  /** Every source, asked now. */
  async status({ signal = new AbortController().signal }: ReadOptions = {}): Promise<readonly SourceState[]> {
    return await Promise.all(
      this.#known.map(async ({ source, reputation }) => {
        const state = { source: source.name, kind: source.kind, suspect: reputation.isSuspect };
        try {
          return { ...state, reachable: true, says: await source.ask(this.#deadline(signal)) };
        } catch (error) {
          signal.throwIfAborted();
          return { ...state, reachable: false, says: messageOf(error) };
        }
      }),
    );
  }

  #archives(): Known<HoldfastSource>[] {
    const archives = this.#known.flatMap(({ source, reputation }) =>
      source instanceof HoldfastSource ? [{ source, reputation }] : [],
    );
    if (archives.length === 0) throw noSource('none is an archive of the kind holdfast');
    return archives;
  }

  /** Honest ones race first; who lied lately is asked only when none of them gave anything. */
  async #first<S extends BlobSource, T>(
    known: readonly Known<S>[],
    { signal = new AbortController().signal }: ReadOptions,
    answers: SourceAnswer[],
    ask: (known: Known<S>, signal: AbortSignal) => Promise<{ readonly value: T } | Omit<SourceAnswer, 'source'>>,
  ): Promise<T | null> {
    const attempt = (one: Known<S>) => async (stopped: AbortSignal) => {
      const begunMs = performance.now();
      try {
        const came = await ask(one, this.#deadline(stopped));
        one.reputation.answeredIn(performance.now() - begunMs);
        if ('value' in came) return came;
        answers.push({ source: one.source.name, ...came });
      } catch (error) {
        stopped.throwIfAborted();
        one.reputation.answeredIn(performance.now() - begunMs);
        answers.push(answerOf(one.source, 'no-answer', reasonOf(error)));
      }
      return null;
    };
    const sorted = known.toSorted((a, b) => a.reputation.expectedMs - b.reputation.expectedMs);
    // Before anybody is asked: who lies now is not asked again at once.
    const honest = sorted.filter(({ reputation }) => !reputation.isSuspect);
    const suspect = sorted.filter(({ reputation }) => reputation.isSuspect);
    for (const round of [honest, suspect]) {
      const found = await firstOf(round.map(attempt), this.#hedgeMs, signal);
      if (found !== null) return found.value;
    }
    return null;
  }

  #deadline(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
  }
}

/** @throws ReaderError `reader/bad-source`, `reader/no-source`. Nothing is sent yet. */
export function createArchiveReader(options: ArchiveReaderOptions): ArchiveReader {
  return new ArchiveReader(options);
}

function sourceFrom(options: SourceOptions, fetching: FetchFunction): BlobSource {
  const access = accessTo(options, fetching);
  switch (options.kind) {
    case 'holdfast':
      return new HoldfastSource(access);
    case 'sentinel':
      return new SentinelSource(access);
    case 'ipfs-gateway':
      return new GatewaySource(access);
    case 'node':
      return new NodeSource(access);
    default:
      return options.kind satisfies never;
  }
}

function named(id: string | NamedHash): NamedHash {
  return typeof id === 'string' ? parseNamedHash(id) : id;
}

function said<T>(told: Told<T>): { readonly value: T } | Omit<SourceAnswer, 'source'> {
  return told.kind === 'told' ? { value: told.value } : { outcome: told.kind, says: told.says };
}

/** null only where every one of them said positively that it has not got it. */
function absence({ versionHash }: NamedHash, answers: readonly SourceAnswer[]): null {
  if (answers.every(({ outcome }) => outcome === 'absent')) return null;
  if (answers.some(({ outcome }) => outcome === 'no-answer' || outcome === 'lied')) {
    throw unavailable(`Nobody gave ${versionHash}, and not everybody could be asked.`, answers);
  }
  const isLost = answers.some(({ outcome }) => outcome === 'lost');
  throw new ReaderError(
    isLost ? 'reader/lost' : 'reader/withheld',
    isLost ? `${versionHash} is recorded as lost.` : `${versionHash} is withheld by an operator.`,
    answers,
    'Add further archives; another one may have it.',
  );
}

function unavailable(message: string, answers: readonly SourceAnswer[]): ReaderError {
  return new ReaderError('reader/unavailable', message, answers, 'Look at who answered what, and ask again.');
}

function noSource(why: string): ReaderError {
  return new ReaderError('reader/no-source', `There is no source to ask: ${why}.`, [], 'Name at least one.');
}

function answerOf({ name }: BlobSource, outcome: SourceAnswer['outcome'], says: string): SourceAnswer {
  return { source: name, outcome, says };
}

/** `fetch failed` says nothing: its cause does. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause).slice(0, 300);
}
