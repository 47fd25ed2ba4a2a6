import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { messageOf } from '../core/blob/errors.ts';
import { HASH_TYPES, type HashType, parseBlockHash, parseTxId, parseVersionHash } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import { VerifyError } from './errors.ts';
import { OCCURRENCE_RECORD_VERSION, type OccurrenceRecord } from './occurrence-record.ts';

/** A transaction cannot be larger than a block; a header and a proof are far smaller. In bytes. */
const MAX_HEX_BYTES = 4_000_000;
const MAX_UINT32 = 0xffffffff;
const MAX_HEIGHT = 0x7fffffff;

const FIELDS: readonly (keyof OccurrenceRecord)[] = [
  'version',
  'hashType',
  'versionHash',
  'size',
  'txid',
  'vout',
  'height',
  'blockHash',
  'header',
  'transaction',
  'merkleProof',
];

/** @throws VerifyError `verify/record` */
export function parseOccurrenceRecord(json: string): OccurrenceRecord {
  let value: unknown;
  try {
    value = parseBoundedJson(json);
  } catch (cause) {
    throw new VerifyError('verify/record', `The record is no JSON: ${messageOf(cause)}`, { cause });
  }
  return decodeOccurrenceRecord(value);
}

/**
 * Exactly the fields of a record, each in the one form in which it is written: lower-case hex, whole numbers. That they
 * agree with each other is what `verifyOccurrence` is for.
 * @throws VerifyError `verify/record`
 */
export function decodeOccurrenceRecord(value: unknown): OccurrenceRecord {
  const fields = ownFields(value);
  const version = fields.get('version');
  if (version !== OCCURRENCE_RECORD_VERSION) {
    throw refused(`its version is ${shown(version)}, known is ${OCCURRENCE_RECORD_VERSION}`);
  }
  for (const key of fields.keys()) {
    if (!FIELDS.some((field) => field === key)) throw refused(`it has a field ${shown(key)}, which no record has`);
  }
  return {
    version,
    hashType: hashTypeOf(fields.get('hashType')),
    versionHash: parseVersionHash(hex(fields, 'versionHash', 32)),
    size: whole(fields, 'size', MIN_BLOB_BYTES, MAX_BLOB_BYTES),
    txid: parseTxId(hex(fields, 'txid', 32)),
    vout: whole(fields, 'vout', 0, MAX_UINT32),
    height: whole(fields, 'height', 0, MAX_HEIGHT),
    blockHash: parseBlockHash(hex(fields, 'blockHash', 32)),
    header: hex(fields, 'header'),
    transaction: hex(fields, 'transaction'),
    merkleProof: hex(fields, 'merkleProof'),
  };
}

function ownFields(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused(`it is ${shown(value)}`);
  return new Map(Object.entries(value));
}

function hashTypeOf(value: unknown): HashType {
  const found = HASH_TYPES.find((hashType) => hashType === value);
  if (found === undefined) throw refused(`hashType is ${shown(value)}, not one of ${HASH_TYPES.join(', ')}`);
  return found;
}

function hex(fields: ReadonlyMap<string, unknown>, name: keyof OccurrenceRecord, bytes?: number): string {
  const value = fields.get(name);
  const fits = typeof value === 'string' && value.length <= 2 * MAX_HEX_BYTES && value.length % 2 === 0;
  if (fits && (bytes === undefined || value.length === 2 * bytes) && /^[0-9a-f]*$/.test(value)) return value;
  throw refused(
    `${name} is ${shown(value)}, not ${bytes === undefined ? '' : `${2 * bytes} characters of `}lower-case hex`,
  );
}

function whole(
  fields: ReadonlyMap<string, unknown>,
  name: keyof OccurrenceRecord,
  least: number,
  most: number,
): number {
  const value = fields.get(name);
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw refused(`${name} is ${shown(value)}, not a whole number from ${least} to ${most}`);
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'object') return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function refused(why: string): VerifyError {
  return new VerifyError('verify/record', `This is no occurrence record: ${why}.`);
}
