import type { ContentName } from '../core/blob/ids.ts';
import { Notifier } from '../core/notifier.ts';
import type { Clock } from '../core/time/clock.ts';
import { isOfTheStore, mayBeOneObject, StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type ProbeFinding, takesAndGives } from '../storage/probe.ts';
import { forgetBytes, type VerifiedBlob, type Verifier } from '../verify/verified-blob.ts';
import type { Backend } from './backend.ts';
import { CircuitBreaker } from './circuit-breaker.ts';

/** The state of a backend's copy. `missing` is the backend's answer; a fault is an error, and thrown. */
export type CopyFinding =
  | { readonly kind: 'good'; readonly blob: VerifiedBlob }
  | { readonly kind: 'missing' }
  /** `error`: why it is not given. Absent: it is given, and is not the blob. */
  | { readonly kind: 'damaged'; readonly error?: unknown };

interface Unreadable {
  readonly kind: 'unreadable';
  readonly error: StorageError;
}

/** The backend is being let in, and no fault of it is known. */
export class NotReachedYet extends StorageError {
  constructor(backend: string) {
    super('storage/unreachable', `The ${backend} store has not been reached yet.`, {
      details: { backend },
      retryable: true,
      hint: 'Ask again in some seconds; the status names what is wrong with it.',
    });
  }
}

/** Share of the last answer in the expected time. */
const SMOOTHING = 0.2;

/** A backend that takes longer than this to take and give a probe is left alone. */
const PROBE_WITHIN_MS = 5_000;
/**
 * Time for which a probe that succeeded answers for the backend. The question whether to go on may rely on an older probe
 * than the verdict that a copy is damaged.
 */
const PROBE_HOLDS_MS = { goOn: 10_000, damaged: 1_000 } as const;

/** One backend as the archive works with it: what it holds is verified, and how it does is known. */
export class BackendHandle {
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
  /** Milliseconds after an acknowledged write in which a power failure can still lose it; 0: none. */
  durabilityDelayMs = 0;
  lastError: StorageError | null = null;
  /** Free bytes that the server reported last; null: it did not report any. */
  freeBytes: number | null = null;
  #expectedMs = 0;
  #servedMs = Number.NEGATIVE_INFINITY;
  #found: readonly ProbeFinding[] = [];
  #probing: Promise<boolean> | null = null;
  #questions = 0;

  /** Takes a clock, not a function that tells some time: the rest of a backend is measured on a clock that never steps. */
  constructor(backend: Backend, verifier: Verifier, clock: Pick<Clock, 'steadyMs'>) {
    this.id = backend.id;
    this.store = backend.store;
    this.#backend = backend;
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /** Likely time of an answer: the nearest backend is asked first. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  /** Whether the backend failed lately: nothing is asked of it until its next try. */
  get isLeftAlone(): boolean {
    return this.breaker.isOpen(this.#clock.steadyMs());
  }

  /** Reports whether a question may go there now. `true` after a pause spends the one try. */
  mayBeAsked(): boolean {
    return this.isAdmitted && this.breaker.admits(this.#clock.steadyMs());
  }

  /** Throws what is wrong with it when it is not to be asked now. Not throwing spends the try after a pause. */
  admit(): void {
    if (this.mayBeAsked()) return;
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

  /** Reads its copy. One that seems bad, or is not given, is read again on a fresh connection before it is called so. */
  async examine(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    const first = await this.#orUnreadable(() => this.read(name, signal), signal);
    return first.kind === 'good' ? first : await this.examineAfresh(name, signal);
  }

  /** Does what `examine` does, without keeping the bytes; a good copy that is not kept as it is meant to be is missing. */
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

  /** Reports whether its copy is also kept for good. Asks the backend only where having the bytes is not enough. */
  async isKept(name: ContentName, signal: AbortSignal): Promise<boolean> {
    const { store } = this;
    return !store.properties.pins || (await this.judged(() => store.isKept(name, signal), signal));
  }

  /** Reports whether it has anything under this name. `stat` of a backend that pins says so of a pinned copy alone. */
  async hasBytes(name: ContentName, signal: AbortSignal): Promise<boolean> {
    const { store } = this;
    const ask = async () => await (store.properties.pins ? store.get(name, signal) : store.stat(name, signal));
    return (await this.judged(ask, signal)) !== null;
  }

  /** Number of questions that went to the backend: a caller that was let through and asked nothing gives its try back. */
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
    // One that is not in use any more would keep its last figure for ever.
    this.freeBytes = this.isAdmitted ? await this.store.freeBytes(signal).catch(() => null) : null;
  }

  /** The findings of a probe, while the backend may be used. Callers within some seconds share one probe. */
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
