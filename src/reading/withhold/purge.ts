import { messageOf } from '../../core/blob/errors.ts';
import type { ContentName, HashType, VersionHash } from '../../core/blob/ids.ts';
import { StorageError } from '../../storage/errors.ts';
import { listCustom, type ObjectStore } from '../../storage/object-store.ts';

/** Result of purging one content at one place. */
export interface PurgeOutcome {
  readonly versionHash: VersionHash;
  /** `custom`: all that was kept as custom commitments to this version hash. */
  readonly hashType: HashType | 'custom';
  readonly place: string;
  /** `locked`: the object cannot be deleted before the end of its retention. */
  readonly outcome: 'deleted' | 'not-there' | 'locked' | 'failed';
  /** Reason why it was not deleted, or what remains. */
  readonly message: string | null;
}

/**
 * Deletes the bytes of this content in every place, with all custom commitments to its version hash, and checks that
 * they are gone. A fault in one place does not stop the others. Custom bytes are reported only where some were found.
 */
export async function purgeEverywhere(
  { hashType, versionHash }: ContentName,
  places: readonly ObjectStore[],
  signal: AbortSignal,
): Promise<PurgeOutcome[]> {
  const outcomes: PurgeOutcome[] = [];
  for (const place of places) {
    const name = { hashType, versionHash };
    outcomes.push({ ...name, place: place.id, ...(await purgeBlob(name, place, signal)) });
  }
  for (const place of places.filter(({ properties }) => properties.holds.has('custom'))) {
    const purge = () => place.purge({ customOf: versionHash }, signal);
    const isLeft = async () => (await Array.fromAsync(listCustom(place, versionHash, signal))).length > 0;
    const outcome = await outcomeOf(place.id, purge, isLeft, signal);
    if (outcome.outcome !== 'not-there')
      outcomes.push({ hashType: 'custom', versionHash, place: place.id, ...outcome });
  }
  return outcomes;
}

async function purgeBlob(name: ContentName, place: ObjectStore, signal: AbortSignal) {
  const purge = () => place.purge(name, signal);
  const isLeft = async () => (await place.stat(name, signal)) !== null;
  return await outcomeOf(place.id, purge, isLeft, signal);
}

async function outcomeOf(
  place: string,
  purge: () => Promise<boolean>,
  isLeft: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Pick<PurgeOutcome, 'outcome' | 'message'>> {
  try {
    if (!(await purge())) return { outcome: 'not-there', message: null };
    if (!(await isLeft())) return { outcome: 'deleted', message: null };
    return { outcome: 'failed', message: `The ${place} store says that it deleted it, and still has it.` };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof StorageError)) throw error;
    return {
      outcome: error.code === 'storage/locked' ? 'locked' : 'failed',
      message: `${messageOf(error)} ${error.hint}`,
    };
  }
}
