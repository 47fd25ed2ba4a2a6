import { z } from 'zod';
import { blobCid } from '../core/blob/cid.ts';
import { HASH_TYPES } from '../core/blob/ids.ts';
import type { ContentRecord, Failure, OccurrenceStatus, ReplicaRecord } from '../view/archive-view.ts';
import { HASH_TEXT } from './parameters.ts';

const when = z.string().nullable();

const FAILURE = z.object({ code: z.string(), message: z.string(), attempts: z.int() }).nullable();

const OCCURRENCE = z.object({
  state: z.enum(['unconfirmed', 'mined', 'final']),
  txid: HASH_TEXT,
  vout: z.int().nullable(),
  height: z.int().nullable(),
  blockHash: HASH_TEXT.nullable(),
  medianTimeSeconds: z.int().nullable(),
  /** Scripts that its transaction spends from. Left out while they are unknown. */
  senders: z.array(z.string()).optional(),
});

const REPLICA = z.object({
  backend: z.string(),
  /** `not-replicated-by-rule`: a rule of the operator leaves it out at this backend alone. */
  state: z.enum(['wanted', 'good', 'damaged', 'not-replicated-by-rule']),
  verifiedAt: when,
});

/** The record that `recordOnWire` makes. */
export const RECORD = z.object({
  versionHash: HASH_TEXT,
  hashType: z.enum(HASH_TYPES).nullable(),
  /** The name of the blob on IPFS; null while it is not known which hash its name is. */
  cid: z.string().nullable(),
  state: z.enum(['seen', 'spooled', 'stored', 'withheld', 'not-archived-by-rule']),
  /** The reason of a take-down that its operator gave for publication. */
  publicReason: z.string().nullable(),
  /** The rule of the operator that leaves it out, as it was then. */
  rule: z.string().nullable(),
  sizeBytes: z.int(),
  listedTxid: HASH_TEXT.nullable(),
  medianTimeSeconds: z.int().nullable(),
  seenAt: z.string(),
  spooledAt: when,
  storedAt: when,
  /** The peer that gave the bytes; null: a node, or a backend of the archive. */
  givenBy: z.string().nullable(),
  /** The failure is why the copy is not good; null where no attempt at it has failed. */
  replicas: z.array(REPLICA.extend({ lastFailure: FAILURE })),
  occurrences: z.array(OCCURRENCE),
  nextOccurrences: z.string().nullable(),
  lastFailure: FAILURE,
});

/** A record in a listing names no failures of copies: they may hold addresses, and a listing is too long to be reworded. */
export const LISTED_RECORD = RECORD.extend({ replicas: z.array(REPLICA) });

export function listedOnWire(record: ContentRecord): z.input<typeof LISTED_RECORD> {
  const replicas = record.replicas.map(({ backend, state, verifiedAt }) => ({ backend, state, verifiedAt }));
  return { ...recordOnWire(record), replicas };
}

/**
 * The record as clients see it. It is named field by field. So additions to the archive's own record do not get
 * out by accident, and members that clients rely on do not change by a renaming.
 */
export function recordOnWire(record: ContentRecord): z.input<typeof RECORD> {
  return {
    versionHash: record.versionHash,
    hashType: record.hashType,
    cid: record.hashType === null ? null : String(blobCid({ ...record, hashType: record.hashType })),
    state: record.state,
    publicReason: record.publicReason,
    rule: record.rule,
    sizeBytes: record.sizeBytes,
    listedTxid: record.listedTxid,
    medianTimeSeconds: record.medianTimeSeconds,
    seenAt: record.seenAt,
    spooledAt: record.spooledAt,
    storedAt: record.storedAt,
    givenBy: record.givenBy,
    replicas: record.replicas.map(replicaOnWire),
    occurrences: record.occurrences.map(occurrenceOnWire),
    nextOccurrences: record.nextOccurrences,
    lastFailure: failureOnWire(record.lastFailure),
  };
}

function occurrenceOnWire({ state, txid, vout, height, blockHash, medianTimeSeconds, senders }: OccurrenceStatus) {
  const known = senders === undefined ? {} : { senders: [...senders] };
  return { state, txid, vout, height, blockHash, medianTimeSeconds, ...known };
}

function replicaOnWire({ backend, state, verifiedAt, lastFailure }: ReplicaRecord) {
  return { backend, state, verifiedAt, lastFailure: failureOnWire(lastFailure) };
}

function failureOnWire(failure: Failure | null) {
  return failure && { code: failure.code, message: failure.message, attempts: failure.attempts };
}
