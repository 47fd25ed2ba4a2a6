import type { Logger } from '../core/observability/logger.ts';
import type { Activity } from '../view/activity.ts';

/**
 * Logs one line for each event of the chain and for each step of a blob's way, with its version hash: listed, spooled,
 * proven by a backend, lost, failed fetch. A search for the hash finds all lines of one blob.
 */
export function logActivity(activity: Activity, log: Logger): void {
  activity.on('sighted', (versionHashes) => {
    for (const versionHash of versionHashes) log.debug({ versionHash }, 'listed by the node');
  });
  activity.on('spooled', (blob) => log.debug(blob, 'spooled: verified and durable here'));
  activity.on('proven', (backend, blobs) => {
    for (const { hashType, versionHash } of blobs) {
      log.debug({ versionHash, hashType, backend }, 'a backend gave it back whole');
    }
  });
  activity.on('failed', ({ versionHash, code, message }) => log.info({ versionHash, code }, `not fetched: ${message}`));
  activity.on('lost', (blob) => log.error(blob, 'lost: no source had it when its window was over'));
  activity.on('reorganised', (change) => log.warn(change, 'blocks were taken back'));
  activity.on('tip', ({ height, hash }) => log.debug({ height, hash }, 'new tip'));
  activity.on('final', (height) => log.debug({ height }, 'final up to here'));
}
