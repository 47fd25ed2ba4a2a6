import { HoldfastError, messageOf } from '../core/blob/errors.ts';

/** Finding of the check of a backend at start: one sentence for the operator. */
export interface ProbeFinding {
  /** Stable name of what was looked at: `reachable`, `writable`, `conditional-put`. */
  readonly check: string;
  /** `fault`: this backend cannot be counted on as it is. `warning`: it works, with a limit that one should know. */
  readonly grade: 'good' | 'warning' | 'fault';
  readonly sentence: string;
  readonly hint: string | null;
}

/** Collects the findings of one probe. */
export class Probing {
  readonly findings: ProbeFinding[] = [];
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Looks at one thing; false: it is a fault, as is an error. Rejects when the signal aborts. */
  async look(check: string, work: () => Promise<ProbeFinding>): Promise<boolean> {
    const finding = await work().catch((error: unknown) => {
      this.#signal.throwIfAborted();
      return faultOf(check, error);
    });
    this.findings.push(finding);
    return finding.grade !== 'fault';
  }
}

/** Something new was written, and read back. */
const READ_BACK: ReadonlySet<string> = new Set(['readable', 'large-block']);

/** Reports whether a backend accepts a new object and gives it back. */
export function takesAndGives(findings: readonly ProbeFinding[]): boolean {
  return findings.some(({ check, grade }) => READ_BACK.has(check) && grade === 'good');
}

export function good(check: string, sentence: string): ProbeFinding {
  return { check, grade: 'good', sentence, hint: null };
}

export function warning(check: string, sentence: string, hint: string): ProbeFinding {
  return { check, grade: 'warning', sentence, hint };
}

export function fault(check: string, sentence: string, hint: string): ProbeFinding {
  return { check, grade: 'fault', sentence, hint };
}

/** The finding that an error makes, in the error's own words. */
export function faultOf(check: string, error: unknown): ProbeFinding {
  const hint = error instanceof HoldfastError ? error.hint : 'Look at the log of that server.';
  return fault(check, messageOf(error), hint);
}
