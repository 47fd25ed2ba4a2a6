import { MAX_DURABILITY_DELAY_MS } from '../catalog/monotonic-wall-clock.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import { bindTo, boundChain } from '../storage/chain-binding.ts';
import { StorageError } from '../storage/errors.ts';
import type { ProbeFinding } from '../storage/probe.ts';
import type { BackendHandle } from './backend-handle.ts';
import type { OnePlace } from './one-place.ts';

export interface AdmissionModules {
  /** The chain that the data folder belongs to; null before a node told it. */
  readonly chain: (signal: AbortSignal) => Promise<BlockHash | null>;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
  /** Learns what must be known of the backend before it is used, such as what may not be put there. */
  readonly beforeAdmit?: (site: BackendHandle, signal: AbortSignal) => Promise<void>;
  /** Knows of two backends that are one place. */
  readonly places: OnePlace;
  readonly probeAgainMs?: number;
}

/** Until a node has told which chain it is, there is nothing to bind to. */
const CHAIN_PAUSE_MS = 250;

/**
 * The system writes data that a server acknowledged early to the disk within half a minute (Linux:
 * vm.dirty_expire_centisecs). This is many times that, for a system that is configured otherwise.
 */
const DURABILITY_DELAY_MS = MAX_DURABILITY_DELAY_MS;

/** A backend that is used with a fault. */
const PROBE_AGAIN_MS = 300_000;

/** A try that did not let the backend in; the sentence says why. */
class NotAdmitted extends Error {}

/** Lets a backend in: bound to our chain first, then looked at, with a sentence for each thing that was found. */
export class Admission {
  readonly #site: BackendHandle;
  readonly #modules: AdmissionModules;

  constructor(site: BackendHandle, modules: AdmissionModules) {
    this.#site = site;
    this.#modules = modules;
  }

  get id(): string {
    return this.#site.id;
  }

  get isDone(): boolean {
    return this.#site.isAdmitted;
  }

  async run(signal: AbortSignal): Promise<void> {
    const name = `backend:${this.id}` as const;
    let genesis: BlockHash | null = null;
    const step = async (): Promise<Next> => {
      genesis ??= await this.#modules.chain(signal).catch(() => null);
      if (genesis === null) return CHAIN_PAUSE_MS;
      const fault = await this.#admit(genesis, signal);
      if (fault === null) return 'done';
      throw new NotAdmitted(fault);
    };
    // A fault of the backend was reported where it was found.
    const tell = (error: unknown) => {
      if (error !== null && !(error instanceof NotAdmitted)) this.#note(error);
    };
    await runLoop(name, step, { signal, backoff: BACKOFF.remote, tell });
    if (!signal.aborted) await this.#site.lookAtRoom(signal);
    await this.#probeUntilWell(signal);
  }

  /** Reports a backend that is used with a fault (its listing may be denied), until that is repaired. */
  async #probeUntilWell(signal: AbortSignal): Promise<void> {
    const site = this.#site;
    const { conditions, probeAgainMs = PROBE_AGAIN_MS } = this.#modules;
    const name = `probe:${site.id}` as const;
    const step = async (): Promise<Next> => {
      if (!conditions.has(name)) return 'done';
      await pause(probeAgainMs, signal);
      const findings = await site.store.probe(signal);
      if (!isAway(findings)) this.#tell(findings);
      return 0;
    };
    // The requests that use a backend report that it is away; the condition that was set before stays meanwhile.
    await runLoop(name, step, { signal, backoff: BACKOFF.remote, tell: () => {} });
  }

  /** The reason why the backend cannot be used now; null: it can. `genesis` null: the backend is not bound to a chain here. */
  async tryOnce(genesis: BlockHash | null, signal: AbortSignal): Promise<string | null> {
    return await this.#admit(genesis, signal);
  }

  /** The chain that the backend says it belongs to; null: none yet, or it has no place to say it. Rejects when it cannot tell. */
  async boundChain(signal: AbortSignal): Promise<BlockHash | null> {
    try {
      return await boundChain(this.#site.store, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#note(error);
      throw error;
    }
  }

  async #admit(genesis: BlockHash | null, signal: AbortSignal): Promise<string | null> {
    const site = this.#site;
    const { conditions, beforeAdmit, places } = this.#modules;
    try {
      if (genesis !== null) await bindTo(site.store, genesis, signal);
      const findings = await site.store.probe(signal);
      this.#tell(findings);
      const unreachable = findings.find(({ check, grade }) => check === 'reachable' && grade === 'fault');
      if (unreachable !== undefined) return unreachable.sentence;
      await beforeAdmit?.(site, signal);
      const isDelayed = findings.some(({ check, grade }) => check === 'durable' && grade !== 'good');
      await places.admit(site, isDelayed ? DURABILITY_DELAY_MS : 0, signal);
      conditions.set(`backend:${site.id}`, null);
      site.breaker.succeeded();
      site.changes.notify();
      return null;
    } catch (error) {
      signal.throwIfAborted();
      this.#note(error);
      return messageOf(error);
    }
  }

  #note(error: unknown): void {
    raise(this.#modules.conditions, this.id, error);
    if (error instanceof StorageError) this.#site.lastError = error;
  }

  #tell(findings: readonly ProbeFinding[]): void {
    const { conditions, log } = this.#modules;
    for (const { check, grade, sentence, hint } of findings) {
      log[grade === 'good' ? 'info' : 'warn']({ backend: this.id, check, grade, hint }, sentence);
    }
    const fault = findings.find(({ grade }) => grade === 'fault');
    // This condition is the probe's own: requests that succeed do not clear it.
    conditions.set(
      `probe:${this.id}`,
      fault === undefined
        ? null
        : {
            code: `backend/${fault.check}`,
            message: fault.sentence,
            hint: fault.hint ?? 'Look at that server.',
            blocksReadiness: false,
          },
    );
  }
}

function isAway(findings: readonly ProbeFinding[]): boolean {
  return findings.some(({ check, grade }) => check === 'reachable' && grade === 'fault');
}

/** Sets the condition of one backend. A fault of one backend never makes the archive not ready. */
export function raise(conditions: ConditionBoard, backend: string, error: unknown): void {
  if (error instanceof HoldfastError) {
    const { code, message, hint } = error;
    conditions.set(`backend:${backend}`, { code, message, hint, blocksReadiness: false });
  } else conditions.setError(`backend:${backend}`, error);
}
