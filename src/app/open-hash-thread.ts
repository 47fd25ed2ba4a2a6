import { messageOf } from '../core/blob/errors.ts';
import type { Logger } from '../core/observability/logger.ts';
import { HashThread, type NodeHasher } from '../hashing/index.ts';

/** Opens the thread for large blobs; the log says when it fails. */
export function openHashThread(hasher: NodeHasher, log: Logger): HashThread {
  return new HashThread(hasher, {
    onFailure: (error) =>
      log.warn(
        { error: messageOf(error) },
        'the hashing thread failed, and large blobs are hashed without it for a minute',
      ),
  });
}
