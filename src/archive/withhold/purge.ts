import { messageOf } from '../../blob/errors.ts';
import type { ContentName } from '../../blob/ids.ts';
import type { BlobStore } from '../../storage/blob-store.ts';
import { StorageError } from '../../storage/errors.ts';

/** What became of the bytes of one content at one place. */
export interface PurgeOutcome extends ContentName {
  readonly place: string;
  /** `locked`: nobody may delete it before its retention is over. */
  readonly outcome: 'deleted' | 'not-there' | 'locked' | 'failed';
  /** Why it was not deleted, or what is left. */
  readonly message: string | null;
}

/** Deletes the bytes of these wherever they lie, and looks whether they are gone. A fault of one place stops no other. */
export async function purgeEverywhere(
  names: readonly ContentName[],
  places: readonly BlobStore[],
  signal: AbortSignal,
): Promise<PurgeOutcome[]> {
  const outcomes: PurgeOutcome[] = [];
  for (const { hashType, versionHash } of names) {
    for (const place of places) {
      const name = { hashType, versionHash };
      outcomes.push({ ...name, place: place.id, ...(await purge(name, place, signal)) });
    }
  }
  return outcomes;
}

async function purge(
  name: ContentName,
  place: BlobStore,
  signal: AbortSignal,
): Promise<Pick<PurgeOutcome, 'outcome' | 'message'>> {
  try {
    const purged = place.purge === undefined ? await plainly(name, place, signal) : await place.purge(name, signal);
    if (!purged) return { outcome: 'not-there', message: null };
    if ((await place.stat(name, signal)) === null) return { outcome: 'deleted', message: null };
    return { outcome: 'failed', message: `The ${place.id} store says that it deleted it, and still has it.` };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof StorageError)) throw error;
    return {
      outcome: error.code === 'storage/locked' ? 'locked' : 'failed',
      message: `${messageOf(error)} ${error.hint}`,
    };
  }
}

/** false: there was nothing. */
async function plainly(name: ContentName, place: BlobStore, signal: AbortSignal): Promise<boolean> {
  if ((await place.stat(name, signal)) === null) return false;
  await place.delete(name, signal);
  return true;
}
