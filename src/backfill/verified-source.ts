import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { ContentName } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import { pause } from '../core/time/run-loop.ts';
import { CircuitBreaker } from '../replication/circuit-breaker.ts';
import type { VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import type { BackfillEvent, EmptyAnswer, SourceTally } from './backfill-report.ts';
import type { BackfillSource, ToldSize } from './source/backfill-source.ts';

export type VerifiedAnswer =
  | { readonly kind: 'found'; readonly blob: VerifiedBlob }
  /** `byRule`: it lacks the bytes because a rule of its operator leaves them out. */
  | { readonly kind: 'empty'; readonly answered: EmptyAnswer; readonly byRule?: true }
  | { readonly kind: 'no-answer'; readonly why: string };

/** A question that failed is asked again after these pauses, where that may help. */
const AGAIN_MS = [250, 1_000] as const;
/** Bytes that are wrong are asked for once more: they may have been damaged on their way. */
const COPIES = 2;

/** One source, as a backfill asks it: what it gives is verified, and how it did is counted. */
export class VerifiedSource {
  readonly #source: BackfillSource;
  readonly #verifier: Verifier;
  readonly #report: (event: BackfillEvent) => void;
  readonly #clock: Clock;
  readonly #breaker = new CircuitBreaker();
  readonly #count = { gave: 0, gaveBytes: 0, absent: 0, withheld: 0, wrongBytes: 0, noAnswer: 0 };
  #lastFault: string | null = null;

  constructor(source: BackfillSource, verifier: Verifier, report: (event: BackfillEvent) => void, clock: Clock) {
    this.#source = source;
    this.#verifier = verifier;
    this.#report = report;
    this.#clock = clock;
  }

  get name(): string {
    return this.#source.name;
  }

  get tally(): SourceTally {
    return { source: this.name, ...this.#count, lastFault: this.#lastFault };
  }

  /** Milliseconds until it may be asked again; 0: now. */
  get restMs(): number {
    const { steadyMs } = this.#clock;
    return this.#breaker.isOpen(steadyMs()) ? Math.max(1, this.#breaker.openUntilMs - steadyMs()) : 0;
  }

  /** Rejects only when the signal aborts. */
  async ask(name: ContentName, signal: AbortSignal): Promise<VerifiedAnswer> {
    const answer = await this.#judged(name, signal);
    switch (answer.kind) {
      case 'found':
        this.#count.gave += 1;
        this.#count.gaveBytes += answer.blob.bytes.length;
        break;
      case 'empty':
        this.#count[answer.answered === 'wrong-bytes' ? 'wrongBytes' : answer.answered] += 1;
        if (answer.answered === 'wrong-bytes') {
          const { hashType, versionHash } = name;
          this.#report({ event: 'wrong-bytes', source: this.name, hashType, versionHash });
        }
        break;
      case 'no-answer':
        break;
      default:
        answer satisfies never;
    }
    return answer;
  }

  /**
   * Returns null when the source is no Holdfast or has nothing there.
   * @throws when the source could not be asked
   */
  async question(path: string, signal: AbortSignal): Promise<unknown> {
    return (await this.#source.question?.(path, signal)) ?? null;
  }

  /** In the end it did not answer for this one. */
  gaveUp(): void {
    this.#count.noAnswer += 1;
  }

  /** The size that the source claims, without the bytes; 'no-answer' when it could not be asked. */
  async size(name: ContentName, signal: AbortSignal): Promise<ToldSize | 'no-answer'> {
    try {
      return await this.#source.size(name, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#tellFault(error);
      return 'no-answer';
    }
  }

  async close(): Promise<void> {
    await this.#source.close();
  }

  async #judged(name: ContentName, signal: AbortSignal): Promise<VerifiedAnswer> {
    const { steadyMs } = this.#clock;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      if (!this.#breaker.admits(steadyMs())) return { kind: 'no-answer', why: this.#lastFault ?? 'it is left alone' };
      try {
        const answer = await this.#find(name, signal);
        this.#breaker.succeeded();
        return answer;
      } catch (error) {
        if (signal.aborted) this.#breaker.notTried();
        signal.throwIfAborted();
        this.#breaker.failed(steadyMs());
        this.#tellFault(error);
        const pauseMs = AGAIN_MS[attempt];
        const mayHelp = error instanceof HoldfastError && error.retryable;
        if (!mayHelp || pauseMs === undefined) return { kind: 'no-answer', why: messageOf(error) };
        await pause(pauseMs, signal);
      }
    }
  }

  async #find({ hashType, versionHash }: ContentName, signal: AbortSignal): Promise<VerifiedAnswer> {
    for (let copy = 0; copy < COPIES; copy += 1) {
      const answer = await this.#source.find({ hashType, versionHash }, signal);
      if (answer.kind === 'absent') return { ...answer, kind: 'empty', answered: 'absent' };
      if (answer.kind !== 'bytes') return { kind: 'empty', answered: answer.kind };
      for (const bytes of answer.candidates) {
        const blob = await this.#verifier.verify({ hashType, versionHash, bytes });
        if (blob !== null) return { kind: 'found', blob };
      }
    }
    return { kind: 'empty', answered: 'wrong-bytes' };
  }

  /** Each thing that is wrong with it once, not once a blob. */
  #tellFault(error: unknown): void {
    const message = messageOf(error);
    if (message !== this.#lastFault) this.#report({ event: 'fault', source: this.name, message });
    this.#lastFault = message;
  }
}
