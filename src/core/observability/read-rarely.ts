/** The largest share of the time that reading may take. */
const MAX_SHARE = 0.02;

/**
 * Caches a read for `minMs`, and longer where a read is slow: frequent calls cannot take more than a fiftieth of the
 * time. A read that throws is not cached.
 */
export function readRarely<T>(read: () => T, minMs: number, nowMs: () => number): () => T {
  let kept: { readonly value: T; readonly untilMs: number } | null = null;
  return () => {
    const begunMs = nowMs();
    if (kept !== null && begunMs < kept.untilMs) return kept.value;
    const value = read();
    const endedMs = nowMs();
    kept = { value, untilMs: endedMs + Math.max(minMs, (endedMs - begunMs) / MAX_SHARE) };
    return value;
  };
}
