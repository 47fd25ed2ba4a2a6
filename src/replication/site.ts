import type { ContentName } from '../core/blob/ids.ts';
import { Notifier } from '../core/notifier.ts';
import type { Clock } from '../core/time/clock.ts';
import { isOfTheStore, mayBeOneObject, StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type ProbeFinding, takesAndGives } from '../storage/probe.ts';
import { forgetBytes, type VerifiedBlob, type Verifier } from '../verify/verified-blob.ts';
import type { Backend } from './backend.ts';
import { CircuitBreaker } from './circuit-breaker.ts';

/** What a backend's copy turned out to be. `missing` is what it answered; a fault is an error, and thrown. */
export type CopyFinding =
  | { readonly kind: 'good'; readonly blob: VerifiedBlob }
  | { readonly kind: 'missing' }
  /** `error`: why it is not given. Absent: it is given, and is not the blob. */
  | { readonly kind: 'damaged'; readonly error?: unknown };

interface Unreadable {
  readonly kind: 'unreadable';
  readonly error: StorageError;
}

/** Nothing is wrong with it as far as anybody knows: it is being let in. */
export class NotReachedYet extends StorageError {
  constructor(backend: string) {
    super('storage/unreachable', `The ${backend} store has not been reached yet.`, {
      details: { backend },
      retryable: true,
      hint: 'Ask again in some seconds; the status names what is wrong with it.',
    });
  }
}

/** How much of the last answer the expected time follows. */
const SMOOTHING = 0.2;

/** A backend that takes longer than this to take and give a probe is left alone. */
const PROBE_WITHIN_MS = 5_000;
/**
 * For so long a probe that went well answers for the backend. Whoever asks whether to go on may rely on an older one than
 * whoever is about to call a copy damaged.
 */
const PROBE_HOLDS_MS = { goOn: 10_000, damaged: 1_000 } as const;

/** One backend as the archive works with it: what it holds is verified, and how it does is known. */
export class Site {
  readonly id: string;
  readonly store: ObjectStore;
  readonly breaker = new CircuitBreaker();
  /** Notifies when it may be used: let in, or back after it was left alone. */
  readonly changes = new Notifier();
  readonly #backend: Backend;
  readonly #verifier: Verifier;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Bound to our chain, as far as it can be: before, nothing is written there and nothing is read. */
  isAdmitted = false;
  /** The backend whose place this one is under another address; null: none is known. */
  twinOf: string | null = null;
  /** How long what it acknowledged may still be lost with its power; 0: not at all. */
  durabilityDelayMs = 0;
  lastError: StorageError | null = null;
  /** As its server told it last; null: it does not tell, or did not when it was asked last. */
  freeBytes: number | null = null;
  #expectedMs = 0;
  #servedMs = Number.NEGATIVE_INFINITY;
  #found: readonly ProbeFinding[] = [];
  #probing: Promise<boolean> | null = null;
  #questions = 0;

  /** A clock, and not a function that tells some time: how long a backend rests goes by none that steps. */
  constructor(backend: Backend, verifier: Verifier, clock: Pick<Clock, 'steadyMs'>) {
    this.id = backend.id;
    this.store = backend.store;
    this.#backend = backend;
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /** How long an answer is likely to take: the nearest is asked first. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  /** It failed lately: nothing is asked of it until its next try. */
  get isLeftAlone(): boolean {
    return this.breaker.isOpen(this.#clock.steadyMs());
  }

  /** Throws what is wrong with it when it is not to be asked now. Not throwing spends the try after a pause. */
  admit(): void {
    if (this.isAdmitted && this.breaker.admits(this.#clock.steadyMs())) return;
    throw this.lastError ?? new NotReachedYet(this.id);
  }

  /** Fetches and hashes what it holds. */
  async read(name: ContentName, signal: AbortSignal, store: ObjectStore = this.store): Promise<CopyFinding> {
    const begunMs = this.#clock.steadyMs();
    const found = await this.judged(() => store.get(name, signal), signal).catch((error: unknown) => {
      // Stopped because another was faster, or failed: it takes that long at least.
      this.#expectedMs = Math.max(this.#expectedMs, this.#clock.steadyMs() - begunMs);
      throw error;
    });
    this.#expectedMs += SMOOTHING * (this.#clock.steadyMs() - begunMs - this.#expectedMs);
    if (found === null) return { kind: 'missing' };
    const { hashType, versionHash } = name;
    const blob = await this.#verifier.verify({ hashType, versionHash, bytes: found });
    return blob === null ? { kind: 'damaged' } : { kind: 'good', blob };
  }

  /** The same over connections of its own. */
  async readAfresh(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    return await this.afresh((store) => this.read(name, signal, store));
  }

  async afresh<T>(ask: (store: ObjectStore) => Promise<T>): Promise<T> {
    const store = await this.#backend.openAgain();
    try {
      return await ask(store);
    } finally {
      await store.close();
    }
  }

  /** What its copy is. One that seems bad, or is not given, is read again on a fresh connection before it is called so. */
  async examine(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    const first = await this.#orUnreadable(() => this.read(name, signal), signal);
    return first.kind === 'good' ? first : await this.examineAfresh(name, signal);
  }

  /** As `examine`, for those who want no bytes; good that is not kept as it is meant to be is missing. */
  async look(name: ContentName, signal: AbortSignal): Promise<CopyFinding['kind']> {
    const finding = await this.examine(name, signal);
    if (finding.kind !== 'good') return finding.kind;
    forgetBytes(finding.blob);
    return (await this.isKept(name, signal)) ? 'good' : 'missing';
  }

  /**
   * The second of the two looks of `examine`. What a backend has and does not give, while it takes and gives something new, is
   * damaged: its disks have lost part of it. A backend that is unwell is a fault, and thrown.
   */
  async examineAfresh(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    const finding = await this.#orUnreadable(() => this.readAfresh(name, signal), signal);
    if (finding.kind !== 'unreadable') return finding;
    if (await this.#serves(PROBE_HOLDS_MS.damaged, signal)) return { kind: 'damaged' };
    throw finding.error;
  }

  async #orUnreadable(read: () => Promise<CopyFinding>, signal: AbortSignal): Promise<CopyFinding | Unreadable> {
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      if (mayBeOneObject(error)) return { kind: 'unreadable', error };
      throw error;
    }
  }

  /** Is what it holds also kept for good? Asked only where having the bytes is not all of it. */
  async isKept(name: ContentName, signal: AbortSignal): Promise<boolean> {
    const { store } = this;
    return !store.properties.pins || (await this.judged(() => store.isKept(name, signal), signal));
  }

  /** So many questions went to the backend: whoever was let through and asked nothing gives its try back. */
  get questions(): number {
    return this.#questions;
  }

  /** Every question to the backend goes through here, so that its breaker learns of it. */
  async judged<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#questions += 1;
    try {
      const answer = await ask();
      this.#isWell();
      this.lastError = null;
      return answer;
    } catch (error) {
      if (signal.aborted) this.breaker.notTried();
      else await this.#blame(error, signal);
      throw error;
    }
  }

  #isWell(): void {
    const wasAway = this.breaker.openUntilMs > 0;
    this.breaker.succeeded();
    if (wasAway) this.changes.notify();
  }

  /**
   * Before a backend is left alone it is asked to take and give something new. While it does, what fails is the fault of
   * the object that was asked for, and whatever is asked of the others goes on.
   */
  async #blame(error: unknown, signal: AbortSignal): Promise<void> {
    if (!(error instanceof StorageError)) {
      this.breaker.failed(this.#clock.steadyMs());
      return;
    }
    const mayServeOthers = this.breaker.isAtItsLimit && !isOfTheStore(error);
    if (mayServeOthers && (await this.#serves(PROBE_HOLDS_MS.goOn, signal))) {
      this.#isWell();
      return;
    }
    this.breaker.failed(this.#clock.steadyMs());
    this.lastError = error;
  }

  /** Asks how much room there is. No answer is no fault: what keeps the backend from being used is told elsewhere. */
  async lookAtRoom(signal: AbortSignal): Promise<void> {
    this.freeBytes = await this.store.freeBytes(signal).catch(() => null);
  }

  /** What a probe of the backend finds, while the backend may be used. Whoever asks within some seconds shares one probe. */
  async findings(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    const serves = this.isAdmitted && !this.isLeftAlone && (await this.#serves(PROBE_HOLDS_MS.goOn, signal));
    return serves ? this.#found : [];
  }

  /** One probe at a time answers all who ask. */
  async #serves(holdsMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#clock.steadyMs() - this.#servedMs < holdsMs) return true;
    this.#probing ??= this.#probe(signal).finally(() => {
      this.#probing = null;
    });
    return await this.#probing;
  }

  async #probe(signal: AbortSignal): Promise<boolean> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(PROBE_WITHIN_MS)]);
    const findings = await this.store.probe(bounded).catch(() => []);
    if (!takesAndGives(findings)) return false;
    this.#servedMs = this.#clock.steadyMs();
    this.#found = findings;
    return true;
  }
}
