import type { LeftOutBlob } from '../catalog/left-out-ledger.ts';
import type { QueuedBlob } from '../catalog/seen-table.ts';
import type { HashType } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import type { ContentRecord } from '../view/archive-view.ts';

/** The record of a queue entry, without its occurrences. */
export function describeQueued(wanted: QueuedBlob): Omit<ContentRecord, 'occurrences' | 'nextOccurrences'> {
  return {
    versionHash: wanted.versionHash,
    hashType: wanted.hashType,
    state: 'seen',
    publicReason: null,
    rule: null,
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

/** The record of what a rule leaves out, without its occurrences. `hashType` null: no block has it. */
export function describeLeftOut(
  leftOut: LeftOutBlob,
  hashType: HashType | null,
): Omit<ContentRecord, 'occurrences' | 'nextOccurrences'> {
  return {
    versionHash: leftOut.versionHash,
    hashType,
    state: 'not-archived-by-rule',
    publicReason: null,
    rule: leftOut.rule,
    sizeBytes: leftOut.sizeBytes ?? MAX_BLOB_BYTES,
    listedTxid: leftOut.txid,
    medianTimeSeconds: leftOut.medianTimeSeconds,
    seenAt: new Date(leftOut.sinceMs).toISOString(),
    spooledAt: null,
    storedAt: null,
    givenBy: null,
    replicas: [],
    lastFailure: null,
  };
}

export function failureOf(wanted: QueuedBlob): ContentRecord['lastFailure'] {
  if (wanted.lastErrorCode === null) return null;
  return { code: wanted.lastErrorCode, message: wanted.lastError ?? '', attempts: wanted.attempts };
}

export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
