import type { ContentRecord, OccurrenceStatus, ReplicaRecord } from '../archive/archive-view.ts';

/**
 * The record as clients see it. Named field by field: what the archive adds to its own record for itself does not get
 * out by accident, and what clients rely on does not change by a renaming.
 */
export function recordOnWire(record: ContentRecord) {
  return {
    versionHash: record.versionHash,
    hashType: record.hashType,
    state: record.state,
    sizeBytes: record.sizeBytes,
    listedTxid: record.listedTxid,
    medianTimeSeconds: record.medianTimeSeconds,
    seenAt: record.seenAt,
    spooledAt: record.spooledAt,
    storedAt: record.storedAt,
    replicas: record.replicas.map(replicaOnWire),
    occurrences: record.occurrences.map(occurrenceOnWire),
    nextOccurrences: record.nextOccurrences,
    lastFailure: record.lastFailure && {
      code: record.lastFailure.code,
      message: record.lastFailure.message,
      attempts: record.lastFailure.attempts,
    },
  };
}

function occurrenceOnWire({ state, txid, vout, height, blockHash, medianTimeSeconds }: OccurrenceStatus) {
  return { state, txid, vout, height, blockHash, medianTimeSeconds };
}

function replicaOnWire({ backend, state, verifiedAt }: ReplicaRecord) {
  return { backend, state, verifiedAt };
}
