import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import type { CliContext } from './cli-context.ts';
import { describeSeconds } from './describe.ts';
import { liveLines } from './live-lines.ts';

const BAR_CHARS = 24;
/** The rate covers this much of the past. */
const RATE_MS = 10_000;

export function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(share * BAR_CHARS);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CHARS - full)}] ${Math.floor(share * 100)} %`;
}

/** Units a second over the last seconds, so that it tells the present pace. */
export class Rate {
  readonly #nowMs: () => number;
  readonly #seen: { readonly ms: number; readonly done: number }[] = [];

  constructor(nowMs = () => SYSTEM_CLOCK.steadyMs()) {
    this.#nowMs = nowMs;
  }

  /** 0: too little time has passed to tell. */
  at(done: number): number {
    const ms = this.#nowMs();
    this.#seen.push({ ms, done });
    while (this.#seen.length > 2 && ms - (this.#seen[0]?.ms ?? ms) > RATE_MS) this.#seen.shift();
    const oldest = this.#seen[0] ?? { ms, done };
    return ms > oldest.ms ? ((done - oldest.done) * 1_000) / (ms - oldest.ms) : 0;
  }
}

/** ` · 42 s left`; empty while the pace is not known. */
export function remaining(left: number, perSecond: number): string {
  // More may have come than there was when the total was told.
  return perSecond > 0 ? ` · ${describeSeconds(Math.max(0, left) / perSecond)} left` : '';
}

export interface Step {
  /** The place and the work, like `s3: reading`. A new label restarts the pace. */
  readonly label: string;
  readonly done: number;
  /** null: not known. */
  readonly total: number | null;
  /** A line for a log, where standard output is no terminal. */
  readonly line: string;
}

export interface StepProgress {
  tell(step: Step): void;
  stop(): void;
}

/** On a terminal one live line with bar, pace and remaining time; elsewhere lines on standard error. */
export function stepProgress(context: CliContext, nowMs?: () => number): StepProgress {
  if (context.stdout.isTTY !== true) {
    return { tell: ({ line }) => context.stderr.write(`${line}\n`), stop: () => {} };
  }
  const lines = liveLines(context);
  let label: string | null = null;
  let rate = new Rate(nowMs);
  return {
    tell(step) {
      if (step.label !== label) rate = new Rate(nowMs);
      label = step.label;
      lines.state(stateOf(step, rate.at(step.done)));
    },
    stop: () => lines.stop(),
  };
}

function stateOf({ label, done, total }: Step, perSecond: number): string {
  const pace = perSecond > 0 ? ` · ${Math.round(perSecond).toLocaleString('en-GB')}/s` : '';
  const count = done.toLocaleString('en-GB');
  if (total === null) return `${label} ${count}${pace}`;
  return `${label} ${bar(done, total)} ${count} of ${total.toLocaleString('en-GB')}${pace}${remaining(total - done, perSecond)}`;
}
