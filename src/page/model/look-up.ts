import { type NamedHash, parseNamedHash, parseTxId, type TxId } from '../../core/blob/ids.ts';
import { type ArchiveApi, Refused } from './archive-api.ts';
import { type BlobRecord, decodeRecord, decodeTransaction } from './record.ts';

/** What the archive says of what was asked for. Claims: what of it is true, `check-blob` finds out. */
export interface Found {
  readonly name: NamedHash;
  /** The transaction that was asked for; null: a version hash was. */
  readonly txid: TxId | null;
  /** null: this reader keeps no records, and has bytes and proofs alone. */
  readonly record: BlobRecord | null;
}

const NO_RECORDS = 'reader/needs-archiver';
/** Words of the archive for "no such blob", which leave it open whether it is a transaction. */
const NOT_A_BLOB: readonly string[] = ['blob/absent', 'blob/cannot-tell', NO_RECORDS];

/**
 * Finds what 64 hex characters mean, with `0x` or without: a version hash, or else a transaction; 66 mean a version hash.
 * @throws MalformedError, Refused (of the version hash, where it is neither), UnexpectedAnswer, TypeError
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

/** null: the archive knows no such transaction, or cannot tell. */
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

/** Where readers stand beside the archiver that served this page, records are asked of them as bytes are. */
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

/** With the hash type where it is known, so that nothing of another type is given. */
export function pathOf({ hashType, versionHash }: NamedHash): string {
  return hashType === 'blake2s256' ? `01${versionHash}` : versionHash;
}
