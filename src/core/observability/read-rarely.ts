/** Of the time, at most this share goes into reading. */
const MOST_SHARE = 0.02;

/**
 * Keeps what was read for `leastMs`, and for longer where reading takes long: whoever asks often cannot make it cost more
 * than a fiftieth of the time. A read that throws is not kept.
 */
export function readRarely<T>(read: () => T, leastMs: number, nowMs: () => number): () => T {
  let kept: { readonly value: T; readonly untilMs: number } | null = null;
  return () => {
    const begunMs = nowMs();
    if (kept !== null && begunMs < kept.untilMs) return kept.value;
    const value = read();
    const endedMs = nowMs();
    kept = { value, untilMs: endedMs + Math.max(leastMs, (endedMs - begunMs) / MOST_SHARE) };
    return value;
  };
}
