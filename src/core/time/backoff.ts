/** Pause after a failed step: it doubles with each failure in a row, up to a cap. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Every retry policy of the product: by what it is that failed, so that one place says how patient Holdfast is with it. */
export const BACKOFF = {
  /** A node: a guest asks seldom, and a node that restarts is back within seconds. */
  node: { firstMs: 500, maxMs: 15_000 },
  /** One blob that a node did not give. */
  blob: { firstMs: 2_000, maxMs: 600_000 },
  /** One copy of a blob, at one place. */
  copy: { firstMs: 1_000, maxMs: 300_000 },
  /** The data folder or the catalog: a full disk, a lock that another process holds. */
  local: { firstMs: 1_000, maxMs: 2_000 },
  /** Work that reads or fills the whole disk and failed: salvaging, rebuilding the index. */
  whole: { firstMs: 5_000, maxMs: 300_000 },
  /** A whole backend, and any other wait for an outside service. */
  remote: { firstMs: 1_000, maxMs: 30_000 },
  /** The receiver of alerts: the only voice when the archive is in danger, and chat services limit the rate. */
  alert: { firstMs: 2_000, maxMs: 60_000 },
  /** One object that a backend refuses while it takes others. */
  refused: { firstMs: 15_000, maxMs: 300_000 },
  /** A peer that gave wrong bytes: it is left alone for a minute, then twice as long each time, up to a day. */
  liar: { firstMs: 60_000, maxMs: 86_400_000 },
} as const satisfies Readonly<Record<string, Backoff>>;

/** A pause is up to this share shorter or longer than its policy says, so that failures do not march in step. */
const JITTER = 0.25;
/** Doubling ends here: far above every cap, and far below what a number holds. */
const MAX_DOUBLINGS = 30;

/** The `random` of a pause that is told to people, and so is exactly what its policy says. */
export const NO_JITTER = (): number => 0.5;

/** The pause after so many failures in a row (1: the first). `random` gives 0 to 1. */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random: () => number = Math.random): number {
  const pause = Math.min(maxMs, firstMs * 2 ** Math.min(Math.max(failures, 1) - 1, MAX_DOUBLINGS));
  return Math.round(pause * (1 + JITTER * (2 * random() - 1)));
}

/** The longest pause that the policy can give. */
export function longestBackoffMs({ maxMs }: Backoff): number {
  return Math.ceil(maxMs * (1 + JITTER));
}
