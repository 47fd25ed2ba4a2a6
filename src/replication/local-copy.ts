import type { ContentName } from '../core/blob/ids.ts';
import { mayBeOneFile } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule, VerifiedBlob } from '../verify/verified-blob.ts';
import type { CopyFinding } from './backend-handle.ts';

/**
 * Reads and hashes the copy in the local store. One that seems bad, or is not given, is read again before it is called so.
 * A copy that the disk has and does not give, while it takes and gives another, is damaged; a fault of the whole disk is
 * thrown. `BackendHandle.examine` has the same rule for backends.
 */
export async function examineLocal(
  name: ContentName,
  store: LocalStore,
  rehash: RehashRule,
  signal: AbortSignal,
  read = readAndProve,
): Promise<CopyFinding> {
  const first = await orError(() => read(name, store, rehash, signal), signal);
  if ('kind' in first && first.kind === 'good') return first;
  const second = await orError(() => readAndProve(name, store, rehash, signal), signal);
  if ('kind' in second) return second;
  if (mayBeOneFile(second.error) && (await store.isServing())) {
    return { kind: 'damaged', error: second.error };
  }
  throw second.error;
}

async function readAndProve(
  name: ContentName,
  store: LocalStore,
  rehash: RehashRule,
  signal: AbortSignal,
): Promise<CopyFinding> {
  const copy = await store.copy(name, signal);
  return copy === null ? { kind: 'missing' } : findingOf(rehash.prove(name, copy.blob.bytes, copy.identity));
}

export function findingOf(blob: VerifiedBlob | null): CopyFinding {
  return blob === null ? { kind: 'damaged' } : { kind: 'good', blob };
}

async function orError(read: () => Promise<CopyFinding>, signal: AbortSignal) {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    return { error };
  }
}
