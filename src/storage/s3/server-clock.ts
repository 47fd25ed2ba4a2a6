import type { Clock } from '../../core/time/clock.ts';

/** A server that is further ahead than this is not believed where its time decides for good. */
const MAX_AHEAD_MS = 86_400_000;

/** Clock of a server, from the `Date` header of its latest answer, refusals included. */
export class ServerClock {
  readonly #ours: Clock;
  offsetMs: number | null = null;
  /** The time at the server when our clock that never steps told 0. */
  #epochMs: number | null = null;

  constructor(ours: Clock) {
    this.#ours = ours;
  }

  note(headers: Readonly<Record<string, string>>): void {
    const theirs = Date.parse(headers['date'] ?? '');
    if (Number.isNaN(theirs)) return;
    this.offsetMs = theirs - this.#ours.wallMs();
    this.#epochMs = theirs - this.#ours.steadyMs();
  }

  /**
   * The time at the server, milliseconds, whatever steps our wall clock made since the server told it; ours where the
   * server never told one. null: the server is more than a day ahead of this machine, and one of the two is wrong. Behind
   * is believed: what begins earlier ends earlier.
   */
  nowMs(): number | null {
    if (this.#epochMs === null) return this.#ours.wallMs();
    const theirs = this.#epochMs + this.#ours.steadyMs();
    return theirs - this.#ours.wallMs() > MAX_AHEAD_MS ? null : theirs;
  }
}
