import {
  HASH_TYPES,
  type HashType,
  type NamedHash,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from '../../core/blob/ids.ts';
import { Fields, UnexpectedAnswer } from './fields.ts';

export interface RecordReplica {
  readonly backend: string;
  readonly state: 'wanted' | 'good' | 'damaged' | 'not-replicated-by-rule' | 'unknown';
  readonly verifiedAt: string | null;
  readonly lastFailure: string | null;
}

export interface RecordOccurrence {
  readonly state: 'unconfirmed' | 'mined' | 'final' | 'unknown';
  readonly txid: string;
  readonly vout: number | null;
  readonly height: number | null;
  readonly blockHash: string | null;
}

/** The fields of `/v1/blobs/{hash}/record` that the page shows. */
export interface BlobRecord {
  readonly versionHash: VersionHash;
  readonly hashType: HashType | null;
  readonly state: 'seen' | 'spooled' | 'stored' | 'withheld' | 'not-archived-by-rule' | 'unknown';
  readonly publicReason: string | null;
  /** The rule of the operator that leaves it out. */
  readonly rule: string | null;
  readonly sizeBytes: number;
  readonly seenAt: string;
  readonly spooledAt: string | null;
  readonly storedAt: string | null;
  readonly replicas: readonly RecordReplica[];
  readonly occurrences: readonly RecordOccurrence[];
  readonly hasMoreOccurrences: boolean;
  readonly lastFailure: string | null;
}

/** Copies that backends are to hold: what the rule of a backend leaves out is not missing there. */
export function expectedReplicas({ replicas }: Pick<BlobRecord, 'replicas'>): readonly RecordReplica[] {
  return replicas.filter(({ state }) => state !== 'not-replicated-by-rule');
}

/**
 * Decodes a record.
 * @throws UnexpectedAnswer for a wrong shape, or the record of another blob
 */
export function decodeRecord(value: unknown, asked: NamedHash | null): BlobRecord {
  const record = Fields.of(value, 'record');
  const hashType = hashTypeOf(record.textOrNull('hashType'));
  const versionHash = hashOf(record.text('versionHash'));
  if (asked !== null && versionHash !== asked.versionHash) throw anotherOne(versionHash);
  if (asked !== null && asked.hashType !== null && hashType !== null && hashType !== asked.hashType) {
    throw anotherOne(`${hashType} ${versionHash}`);
  }
  return {
    versionHash,
    hashType,
    state: record.word('state', ['seen', 'spooled', 'stored', 'withheld', 'not-archived-by-rule']),
    publicReason: record.textOrNull('publicReason'),
    rule: record.textOrNull('rule'),
    sizeBytes: record.number('sizeBytes'),
    seenAt: record.text('seenAt'),
    spooledAt: record.textOrNull('spooledAt'),
    storedAt: record.textOrNull('storedAt'),
    replicas: record.list('replicas', (one) => {
      const replica = Fields.of(one, 'replica');
      return {
        backend: replica.text('backend'),
        state: replica.word('state', ['wanted', 'good', 'damaged', 'not-replicated-by-rule']),
        verifiedAt: replica.textOrNull('verifiedAt'),
        lastFailure: failureIn(replica),
      };
    }),
    occurrences: record.list('occurrences', (one) => {
      const occurrence = Fields.of(one, 'occurrence');
      return {
        state: occurrence.word('state', ['unconfirmed', 'mined', 'final']),
        txid: occurrence.text('txid'),
        vout: occurrence.numberOrNull('vout'),
        height: occurrence.numberOrNull('height'),
        blockHash: occurrence.textOrNull('blockHash'),
      };
    }),
    hasMoreOccurrences: record.textOrNull('nextOccurrences') !== null,
    lastFailure: failureIn(record),
  };
}

function failureIn(fields: Fields): string | null {
  const failure = fields.innerOrNull('lastFailure');
  return failure && `${failure.text('message')} (${failure.number('attempts')} attempts)`;
}

/**
 * Decodes the content that a transaction commits to.
 * @throws UnexpectedAnswer for a wrong shape, or another transaction
 */
export function decodeTransaction(value: unknown, asked: TxId): { hashType: HashType; versionHash: VersionHash } {
  const transaction = Fields.of(value, 'transaction');
  const txid = transaction.text('txid');
  const hashType = hashTypeOf(transaction.text('hashType'));
  if (txid !== asked) throw anotherOne(txid);
  if (hashType === null)
    throw new UnexpectedAnswer('The archive does not say which hash type the transaction commits to.');
  return { hashType, versionHash: hashOf(transaction.text('versionHash')) };
}

/** @throws UnexpectedAnswer for an unknown hash type */
export function hashTypeOf(text: string | null): HashType | null {
  if (text === null) return null;
  const found = HASH_TYPES.find((hashType) => hashType === text);
  if (found === undefined) throw new UnexpectedAnswer('The archive names an unknown hash type.');
  return found;
}

/** @throws UnexpectedAnswer for anything but 64 hex characters of lower case */
export function hashOf(text: string): VersionHash {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new UnexpectedAnswer('The archive names a malformed version hash.');
  return parseVersionHash(text);
}

function anotherOne(given: string): UnexpectedAnswer {
  return new UnexpectedAnswer(`The archive answered for another blob or transaction: ${given}.`);
}
