import type { MovedBackend } from '../catalog/backend-places.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';

/** Between two looks at its queue. */
const PAUSE_MS = 10_000;

/** Tells that a name of the configuration stands for another place, until that place holds all that it is to hold. */
export async function tellOfMove(
  { backend, from, to }: MovedBackend,
  catalog: Catalog,
  conditions: ConditionBoard,
  signal: AbortSignal,
  pauseMs = PAUSE_MS,
): Promise<void> {
  const place = `place:${backend}` as const;
  const step = (): Next => {
    if (catalog.replicas.queued(backend) === 0) return 'done';
    conditions.set(place, {
      code: 'backend/another-place',
      message: `The ${backend} store is ${to} now, and was ${from}: what was proven there does not count here.`,
      hint: 'Wait while it is looked at and filled. Where only the former one has the bytes, name that as well, under an id of its own.',
      blocksReadiness: false,
    });
    return pauseMs;
  };
  const tell = (error: unknown) => {
    if (error !== null) conditions.setError(place, error, false);
  };
  await runLoop(place, step, { signal, backoff: BACKOFF.local, tell });
  if (!signal.aborted) conditions.set(place, null);
}
