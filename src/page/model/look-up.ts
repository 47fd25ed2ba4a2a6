import { type NamedHash, parseNamedHash, parseTxId, type TxId } from '../../core/blob/ids.ts';
import { type ArchiveApi, Refused } from './archive-api.ts';
import { type BlobRecord, decodeRecord, decodeTransaction } from './record.ts';

/** Result of a look-up. It holds claims of the archive; `checkBlob` verifies them. */
export interface Found {
  readonly name: NamedHash;
  /** The transaction id that the person entered; null when the text was a version hash. */
  readonly txid: TxId | null;
  /** null: this reader keeps no records and has bytes and proofs only. */
  readonly record: BlobRecord | null;
}

const NO_RECORDS = 'reader/needs-archiver';
/** Codes of the archive for an unknown version hash. The text may still be a transaction id. */
const NOT_A_BLOB: readonly string[] = ['blob/absent', 'blob/cannot-tell', NO_RECORDS];

/**
 * Looks up 64 hex characters, with or without `0x`, as a version hash and then as a transaction id. 66 characters are a
 * version hash only.
 * @throws MalformedError, UnexpectedAnswer, TypeError; Refused for the version hash when the text is neither
 */
export async function lookUp(text: string, api: ArchiveApi, signal: AbortSignal): Promise<Found> {
  const name = parseNamedHash(text.trim());
  try {
    return { name, txid: null, record: await recordOf(name, api, signal) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const canBeTransaction = NOT_A_BLOB.includes(error.code) && name.hashType === null;
    const found = canBeTransaction ? await asTransaction(name, api, signal) : null;
    if (found !== null) return found;
    if (error.code === NO_RECORDS) return { name, txid: null, record: null };
    throw error;
  }
}

/** Returns null when the archive does not know the transaction, or cannot tell. */
async function asTransaction(name: NamedHash, api: ArchiveApi, signal: AbortSignal): Promise<Found | null> {
  const txid = parseTxId(name.versionHash);
  try {
    const { hashType, versionHash } = decodeTransaction(await api.json(`v1/transactions/${txid}`, { signal }), txid);
    const name = { hashType, versionHash };
    return { name, txid, record: await recordOrNone(name, api, signal) };
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return null;
    throw error;
  }
}

/** Requests a record. Some deployments serve the page from an archiver and send other requests to stateless readers. */
async function recordOrNone(name: NamedHash, api: ArchiveApi, signal: AbortSignal): Promise<BlobRecord | null> {
  try {
    return await recordOf(name, api, signal);
  } catch (error) {
    if (error instanceof Refused && error.code === NO_RECORDS) return null;
    throw error;
  }
}

async function recordOf(name: NamedHash, api: ArchiveApi, signal: AbortSignal): Promise<BlobRecord> {
  return decodeRecord(await api.json(`v1/blobs/${pathOf(name)}/record`, { signal }), name);
}

/** Path of a blob, with its hash type when known, so that the archive gives no blob of another type. */
export function pathOf({ hashType, versionHash }: NamedHash): string {
  return hashType === 'blake2s256' ? `01${versionHash}` : versionHash;
}
