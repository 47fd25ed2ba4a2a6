export interface ReputationOptions {
  /** A lie counts half after so long. */
  readonly forgiveMs: number;
  readonly nowMs: () => number;
}

/** Above this a source is suspect: asked only when no other has given anything. */
const SUSPECT_ABOVE = 0.5;
/** More lies than these weigh no more, so that whoever mends its ways is heard again some day. */
const MOST_LIES = 16;
const SMOOTHING = 0.2;

/** What is remembered of one source: how often it lied, which fades, and how fast it answers. */
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

  /** Lies that still count. */
  get lies(): number {
    return this.#lies * 0.5 ** ((this.#options.nowMs() - this.#atMs) / this.#options.forgiveMs);
  }

  get isSuspect(): boolean {
    return this.lies > SUSPECT_ABOVE;
  }

  lied(): void {
    this.#lies = Math.min(this.lies + 1, MOST_LIES);
    this.#atMs = this.#options.nowMs();
  }

  answeredIn(ms: number): void {
    this.#expectedMs += SMOOTHING * (ms - this.#expectedMs);
  }
}
