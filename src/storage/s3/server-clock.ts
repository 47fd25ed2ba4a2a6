/** A server that is further ahead than this is not believed where its time decides for good. */
const MAX_AHEAD_MS = 86_400_000;

/** Clock of a server, from the `Date` header of its latest answer, refusals included. */
export class ServerClock {
  offsetMs: number | null = null;
  /** The time at the server when our clock that never steps told 0. */
  #epochMs: number | null = null;

  note(headers: Readonly<Record<string, string>>): void {
    const theirs = Date.parse(headers['date'] ?? '');
    if (Number.isNaN(theirs)) return;
    this.offsetMs = theirs - Date.now();
    this.#epochMs = theirs - performance.now();
  }

  /**
   * The time at the server, milliseconds, whatever steps our wall clock made since the server told it; ours where the
   * server never told one. null: the server is more than a day ahead of this machine, and one of the two is wrong. Behind
   * is believed: what begins earlier ends earlier.
   */
  nowMs(): number | null {
    if (this.#epochMs === null) return Date.now();
    const theirs = this.#epochMs + performance.now();
    return theirs - Date.now() > MAX_AHEAD_MS ? null : theirs;
  }
}
