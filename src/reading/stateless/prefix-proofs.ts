import { z } from 'zod';
import type { ContentName } from '../../core/blob/ids.ts';
import { listDocuments, type ObjectReader, readText } from '../../storage/object-store.ts';
import { parseRecordPath, type RecordPath } from '../../storage/record-path.ts';
import { parseOccurrenceRecord } from '../../verify/decode-occurrence-record.ts';
import { VerifyError } from '../../verify/errors.ts';
import { type OccurrenceRecord, occurrenceKey, occurrencePrefix } from '../../verify/occurrence-record.ts';
import { verifyOccurrence } from '../../verify/verify-occurrence.ts';

/** Limit of the records of one content, as archivers write them. */
const MAX_RECORDS = 16;
/** Names that are looked at: records, and a tombstone beside each. */
const MAX_NAMES = 1_024;
const TOMBSTONE = z.looseObject({ withdrawn: z.literal(true), blockHash: z.string() });
const NO_BYTES = new Uint8Array();

/**
 * The occurrence records of a content, found by their prefix alone. Only those that prove themselves, and that no
 * tombstone withdraws: where object lock forbids deleting, it says of which block the record spoke.
 */
export async function proofsByPrefix(
  store: ObjectReader,
  name: ContentName,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<OccurrenceRecord[]> {
  const paths = new Set<RecordPath>();
  for await (const { path } of listDocuments(store, occurrencePrefix(name), signal)) {
    paths.add(path);
    if (paths.size >= MAX_NAMES) break;
  }
  const records: OccurrenceRecord[] = [];
  for (const path of [...paths].filter((one) => !isTombstone(one)).toSorted((a, b) => heightIn(a) - heightIn(b))) {
    if (records.length >= MAX_RECORDS) break;
    const record = goodRecord(await readText(store, path, signal), name, sizeBytes, path);
    if (record === null) continue;
    const beside = parseRecordPath(path.replace(/\.json$/, '.withdrawn.json'));
    const tombstone = paths.has(beside) ? await readText(store, beside, signal) : null;
    if (tombstone === null || !withdraws(tombstone, record)) records.push(record);
  }
  return records;
}

function isTombstone(path: string): boolean {
  return path.endsWith('.withdrawn.json');
}

function heightIn(path: string): number {
  return Number(/\/(\d+)-[^/]*$/.exec(path)?.[1] ?? Number.POSITIVE_INFINITY);
}

/** Everything but the bytes, whose number the caller knows from having hashed them. */
function goodRecord(text: string | null, name: ContentName, sizeBytes: number, path: string): OccurrenceRecord | null {
  if (text === null) return null;
  let record: OccurrenceRecord;
  try {
    record = parseOccurrenceRecord(text);
  } catch (error) {
    if (error instanceof VerifyError) return null;
    throw error;
  }
  const same =
    record.hashType === name.hashType &&
    record.versionHash === name.versionHash &&
    record.size === sizeBytes &&
    occurrenceKey(record) === path;
  return same && isProven(record) ? record : null;
}

export function isProven(record: OccurrenceRecord): boolean {
  return verifyOccurrence(NO_BYTES, record).steps.every(({ step, ok }) => step === 'bytes' || ok);
}

/** One that cannot be read withdraws: a proof that may have been taken back is not given out. */
function withdraws(text: string, { blockHash }: OccurrenceRecord): boolean {
  try {
    return TOMBSTONE.parse(JSON.parse(text)).blockHash === blockHash;
  } catch {
    return true;
  }
}
