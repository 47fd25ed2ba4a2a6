import { z } from 'zod';
import { parseWithheldDocument, type WithheldDocument, withheldPath } from '../../catalog/withheld-document.ts';
import { HASH_TYPES, parseVersionHash } from '../../core/blob/ids.ts';
import { StorageError } from '../../storage/errors.ts';
import { listDocuments, type ObjectReader, readText } from '../../storage/object-store.ts';
import type { RecordPath } from '../../storage/record-path.ts';

/** A take-down that an archiver recorded on a backend, in force or revoked. */
export interface WithheldRecord extends WithheldDocument {
  readonly archiver: string;
}

export type WithheldRecordStore = ObjectReader;

const PATH = /^audit\/([^/]+)\/(withheld\/([^/]+)\/([0-9a-f]{64})\.json)$/;
/** Names that are remembered at most: more are an attack on the bucket, not take-downs. */
const MAX_NAMES = 100_000;
const READS_AT_ONCE = 8;

/**
 * Every record of every archiver id on a backend, revoked ones too: `audit/<archiver id>/withheld/…`. Needs no catalog.
 * Throws `StorageError`.
 */
export async function withheldRecordsIn(store: WithheldRecordStore, signal: AbortSignal): Promise<WithheldRecord[]> {
  const paths: RecordPath[] = [];
  for await (const { path } of listDocuments(store, 'audit/', signal)) {
    if (PATH.test(path)) paths.push(path);
    if (paths.length > MAX_NAMES) throw unreadable(store.id, `it withholds more than ${MAX_NAMES} names`);
  }
  const records: WithheldRecord[] = [];
  let next = 0;
  const lane = async () => {
    for (let path = paths[next++]; path !== undefined; path = paths[next++]) {
      // A record may be replaced at this moment. One that is listed and not given is in force, as one that cannot be read.
      const text = (await readText(store, path, signal)) ?? (await readText(store, path, signal)) ?? '';
      const record = decode(path, text);
      if (record !== null) records.push(record);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, lane));
  return records;
}

/**
 * An unreadable record is in force: its path names the blob, and a damaged file must not cause the blob to be served.
 */
function decode(path: string, text: string): WithheldRecord | null {
  const [, archiver = '', below = '', type, versionHash = ''] = PATH.exec(path) ?? [];
  const hashType = HASH_TYPES.find((one) => one === type);
  if (hashType === undefined) return null;
  const name = { hashType, versionHash: parseVersionHash(versionHash) };
  try {
    const record = parseWithheldDocument(text);
    if (withheldPath(record) === below) return { ...record, archiver };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
  }
  const reason = 'the record cannot be read';
  const at = new Date(0).toISOString();
  return { format: 1, ...name, reason, publicReason: null, purge: false, at, revokedAt: null, archiver };
}

export function unreadable(source: string, why: string): StorageError {
  return new StorageError('storage/fault', `What ${source} withholds cannot be read: ${why}.`, {
    details: { source },
    retryable: true,
    hint: 'Let holdfast list and read audit/ there; until it can, what was known before goes on counting.',
  });
}
