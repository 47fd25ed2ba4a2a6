export interface ReputationOptions {
  /** Half-life of a lie in milliseconds. */
  readonly forgiveMs: number;
  readonly nowMs: () => number;
}

/** A source whose lies weigh more than this is suspect: it is asked only when every other source failed. */
const SUSPECT_ABOVE = 0.5;
/** Upper limit of the counted lies, so that a repaired source is trusted again after some half-lives. */
const MAX_LIES = 16;
const SMOOTHING = 0.2;

/** Reputation of one source: its lies, which fade with time, and its speed. */
export class Reputation {
  readonly #options: ReputationOptions;
  #lies = 0;
  #atMs: number;
  #expectedMs = 0;

  constructor(options: ReputationOptions) {
    this.#options = options;
    this.#atMs = options.nowMs();
  }

  get expectedMs(): number {
    return this.#expectedMs;
  }

  /** Lies that still count, with each one's decay. */
  get lies(): number {
    return this.#lies * 0.5 ** ((this.#options.nowMs() - this.#atMs) / this.#options.forgiveMs);
  }

  get isSuspect(): boolean {
    return this.lies > SUSPECT_ABOVE;
  }

  lied(): void {
    this.#lies = Math.min(this.lies + 1, MAX_LIES);
    this.#atMs = this.#options.nowMs();
  }

  answeredIn(ms: number): void {
    this.#expectedMs += SMOOTHING * (ms - this.#expectedMs);
  }
}
