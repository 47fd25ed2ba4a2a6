import type { MovedBackend } from '../catalog/backend-places.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Pulse } from '../core/pulse.ts';

export interface MovedBackendModules {
  readonly catalog: Catalog;
  readonly conditions: ConditionBoard;
  /** Between two looks at its queue. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 10_000;

/** Tells that a name of the configuration stands for another place, until that place holds all that it is to hold. */
export async function tellOfMove(
  { backend, from, to }: MovedBackend,
  { catalog, conditions, pauseMs = PAUSE_MS }: MovedBackendModules,
  signal: AbortSignal,
): Promise<void> {
  const pause = new Pulse();
  conditions.set(`place:${backend}`, {
    code: 'backend/another-place',
    message: `The ${backend} store is ${to} now, and was ${from}: what was proven there does not count here.`,
    hint: 'Wait while it is looked at and filled. Where only the former one has the bytes, name that as well, under an id of its own.',
    blocksReadiness: false,
  });
  while (!signal.aborted && catalog.replicas.queued(backend) > 0) await pause.wait(pauseMs, signal);
  if (!signal.aborted) conditions.set(`place:${backend}`, null);
}
