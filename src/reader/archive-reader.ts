import { messageOf } from '../core/blob/errors.ts';
import { type NamedHash, parseNamedHash } from '../core/blob/ids.ts';
import { firstGood } from '../core/first-good.ts';
import { type BlobHasher, nobleHasher } from '../verify/hasher.ts';
import type { OccurrenceRecord } from '../verify/occurrence-record.ts';
import type { ProofDemand } from '../verify/proof-level.ts';
import { type VerifiedBlob, verifyBlob } from '../verify/verified-blob.ts';
import type { FetchFunction } from './bounded-fetch.ts';
import { checkedProofs } from './checked-proofs.ts';
import { ReaderError, type SourceAnswer } from './errors.ts';
import { GatewaySource } from './gateway-source.ts';
import { type BlobPage, type BlobRecord, HoldfastSource, type JsonResult } from './holdfast-source.ts';
import { NodeSource } from './node-source.ts';
import { Reputation } from './reputation.ts';
import { SentinelSource } from './sentinel-source.ts';
import { accessTo, type BlobSource, type SourceKind, type SourceOptions } from './source.ts';

export interface ArchiveReaderOptions {
  /** Sources to read from. The reader asks the fastest first; a source with recent lies comes last. */
  readonly sources: readonly SourceOptions[];
  /** Milliseconds for one request to one source, body included. Default 15,000. */
  readonly timeoutMs?: number;
  /** Milliseconds after which the reader asks the next source in parallel. Default 300. */
  readonly hedgeMs?: number;
  /** Half-life of a lie in milliseconds. Default 600,000. */
  readonly forgiveMs?: number;
  /** Hash functions. Default: pure JavaScript, which runs anywhere. */
  readonly hasher?: BlobHasher;
  /** HTTP client. Default: the global `fetch`. */
  readonly fetch?: FetchFunction;
  readonly nowMs?: () => number;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
}

/** Options of `proofs`: a level to reach, and the blob that the proofs must be about. */
export interface ProofOptions extends ReadOptions, ProofDemand {
  /** Bytes of the blob. With them, each proof is checked to commit to these bytes. */
  readonly bytes?: Uint8Array;
}

export interface SourceState {
  readonly source: string;
  readonly kind: SourceKind;
  readonly reachable: boolean;
  /** The source's own one-line status, or the reason why it did not answer. */
  readonly says: string;
  /** true while the source's recent lies make it a last resort. */
  readonly suspect: boolean;
}

interface Known<S extends BlobSource = BlobSource> {
  readonly source: S;
  readonly reputation: Reputation;
}

/** Reads from several archives, gateways and nodes and verifies everything they give. */
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
   * Reads a blob and verifies its hash. Resolves to null when every source answered that it lacks the blob.
   * @throws ReaderError with the answer of each source; the signal's reason on abort
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

  /**
   * Reads the record of a blob. It is an unverified claim of one archive. Resolves to null when every archive says that
   * the blob is absent.
   */
  async record(id: string | NamedHash, options: ReadOptions = {}): Promise<BlobRecord | null> {
    const name = named(id);
    const answers: SourceAnswer[] = [];
    const record = await this.#first(this.#archives(), options, answers, async ({ source, reputation }, signal) => {
      const result = await source.record(name, signal);
      if (result.kind === 'value' && result.value.versionHash !== name.versionHash) {
        reputation.lied();
        return { outcome: 'lied', says: 'its record is of another blob' };
      }
      return resultOf(result);
    });
    return record ?? absence(name, answers);
  }

  /**
   * Reads the occurrence records of the first archive that gives some, verified up to `level`.
   * Default `inclusion`: anybody can make a header for such a proof. `work` requires at least the least work of each
   * header. `chain` requires a run of headers (`checkHeaderRun`). Otherwise only a node can tell whether a header is on
   * the chain (`checkHeaderOnChain`). Resolves to null when every archive says that the blob is absent.
   */
  async proofs(id: string | NamedHash, options: ProofOptions = {}): Promise<readonly OccurrenceRecord[] | null> {
    const name = named(id);
    const answers: SourceAnswer[] = [];
    const records = await this.#first(this.#archives(), options, answers, async ({ source, reputation }, signal) => {
      const result = await source.proofs(name, signal);
      if (result.kind !== 'value') return { outcome: result.kind, says: result.says };
      const checked = checkedProofs(result.value, name, options.bytes ?? null, options, this.#hasher);
      if (checked.kind === 'good') return { value: checked.records };
      if (checked.kind === 'too-little') return { outcome: 'no-answer', says: checked.says };
      reputation.lied();
      return { outcome: 'lied', says: checked.says };
    });
    return records ?? absence(name, answers);
  }

  /**
   * Iterates over all records of the first archive that answers, page by page. It never switches to another archive.
   */
  async *list(options: ReadOptions & { readonly order?: 'newest' | 'oldest' } = {}): AsyncGenerator<BlobRecord> {
    const answers: SourceAnswer[] = [];
    const { order = 'newest' } = options;
    const signal = options.signal ?? new AbortController().signal;
    const first = await this.#first(this.#archives(), options, answers, async ({ source }, stop) => {
      const result = await source.page({ order }, stop);
      return result.kind === 'value'
        ? { value: { source, page: result.value } }
        : { outcome: result.kind, says: result.says };
    });
    if (first === null) throw unavailable('No archive lists its blobs now.', answers);
    for (let page: BlobPage = first.page; ; ) {
      yield* page.blobs;
      if (page.next === null) return;
      const next = await first.source.page({ order, after: page.next }, this.#deadline(signal));
      if (next.kind === 'value') page = next.value;
      else
        throw unavailable('The archive stopped answering in the middle of its listing.', [
          answerOf(first.source, 'no-answer', next.says),
        ]);
    }
  }

  /** Asks every source for its status, in parallel. */
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

  /** Races the honest sources first. Suspect sources are asked only when no honest source gave a result. */
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
    // The split happens before the first request: a source that lies in this call is not asked twice.
    const honest = sorted.filter(({ reputation }) => !reputation.isSuspect);
    const suspect = sorted.filter(({ reputation }) => reputation.isSuspect);
    for (const round of [honest, suspect]) {
      const found = await firstGood(round.map(attempt), this.#hedgeMs, signal);
      if (found !== null) return found.value;
    }
    return null;
  }

  #deadline(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
  }
}

/**
 * Creates a reader. Sends nothing yet.
 * @throws ReaderError `reader/bad-source`, `reader/no-source`
 */
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

function resultOf<T>(result: JsonResult<T>): { readonly value: T } | Omit<SourceAnswer, 'source'> {
  return result.kind === 'value' ? { value: result.value } : { outcome: result.kind, says: result.says };
}

/** Returns null when every source answered that it lacks the blob; throws otherwise. */
function absence({ versionHash }: NamedHash, answers: readonly SourceAnswer[]): null {
  if (answers.every(({ outcome }) => outcome === 'absent')) return null;
  if (answers.some(({ outcome }) => outcome === 'no-answer' || outcome === 'lied')) {
    throw unavailable(`No source gave ${versionHash}, and some sources could not be asked.`, answers);
  }
  const [code, says] =
    REFUSALS.find(([, , refusal]) => answers.some(({ outcome }) => outcome === refusal)) ?? REFUSALS[0];
  throw new ReaderError(code, `${versionHash} ${says}`, answers, 'Add further archives; another one may have it.');
}

/** Errors for a blob that no source gives, by the refusal of some source: the gravest first. */
const REFUSALS = [
  ['reader/lost', 'is recorded as lost.', 'lost'],
  ['reader/withheld', 'is withheld by an operator.', 'withheld'],
  ['reader/not-archived-by-rule', 'is left out by a rule of an operator.', 'not-archived-by-rule'],
] as const;

function unavailable(message: string, answers: readonly SourceAnswer[]): ReaderError {
  return new ReaderError(
    'reader/unavailable',
    message,
    answers,
    'Read `answers` of this error, fix the sources that failed, and ask again.',
  );
}

function noSource(why: string): ReaderError {
  return new ReaderError('reader/no-source', `There is no source to ask: ${why}.`, [], 'Name at least one source.');
}

function answerOf({ name }: BlobSource, outcome: SourceAnswer['outcome'], says: string): SourceAnswer {
  return { source: name, outcome, says };
}

/** The message of an error, with its cause: `fetch failed` alone explains nothing. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause).slice(0, 300);
}
