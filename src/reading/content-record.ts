import type { QueuedBlob } from '../catalog/seen-table.ts';
import type { ContentRecord } from '../view/archive-view.ts';

/** The record of a queue entry, without its occurrences. */
export function describeQueued(wanted: QueuedBlob): Omit<ContentRecord, 'occurrences' | 'nextOccurrences'> {
  return {
    versionHash: wanted.versionHash,
    hashType: wanted.hashType,
    state: 'seen',
    publicReason: null,
    sizeBytes: wanted.sizeBytes,
    listedTxid: wanted.txid,
    medianTimeSeconds: wanted.medianTimeSeconds,
    seenAt: new Date(wanted.firstSeenMs).toISOString(),
    spooledAt: null,
    storedAt: null,
    givenBy: null,
    replicas: [],
    lastFailure: failureOf(wanted),
  };
}

export function failureOf(wanted: QueuedBlob): ContentRecord['lastFailure'] {
  if (wanted.lastErrorCode === null) return null;
  return { code: wanted.lastErrorCode, message: wanted.lastError ?? '', attempts: wanted.attempts };
}

export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
