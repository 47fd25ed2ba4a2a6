import { type NamedHash, parseBlockHash, parseNamedHash, parseTxId, type TxId } from '../../core/blob/ids.ts';
import { type ArchiveApi, Refused } from './archive-api.ts';
import { askForBlock, type ChainBlock } from './chain-block.ts';
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

/** A blob, or a block of the chain. */
export type LookedUp =
  | { readonly kind: 'blob'; readonly found: Found }
  | { readonly kind: 'block'; readonly block: ChainBlock };

/**
 * Looks up what a person typed or an address of the page names: `block/{height or hash}`, a height, `tx/{transaction id}`,
 * or else 64 hex characters as a version hash, a transaction id and a block hash.
 * @throws MalformedError, UnexpectedAnswer, TypeError; Refused for the first meaning when no other is known
 */
export async function lookUpAny(text: string, api: ArchiveApi, signal: AbortSignal): Promise<LookedUp> {
  const [, height] = /^(?:block\/)?([0-9]{1,10})$/.exec(text.trim()) ?? [];
  if (height !== undefined) return { kind: 'block', block: await askForBlock(height, api, signal) };
  const [, of, hex = text] = /^(block|tx)\/(.*)$/.exec(text.trim()) ?? [];
  if (of === 'block') return { kind: 'block', block: await askForBlock(parseBlockHash(bare(hex)), api, signal) };
  if (of === 'tx') return { kind: 'blob', found: await ofTransaction(parseTxId(bare(hex)), api, signal) };
  try {
    return { kind: 'blob', found: await lookUp(text, api, signal) };
  } catch (error) {
    const name = parseNamedHash(text.trim());
    const canBeBlock = error instanceof Refused && NOT_A_BLOB.includes(error.code) && name.hashType === null;
    const block = canBeBlock ? await blockOrNone(name.versionHash, api, signal) : null;
    if (block === null) throw error;
    return { kind: 'block', block };
  }
}

function bare(hex: string): string {
  return hex.trim().replace(/^0x/i, '');
}

/** Returns null when the archive does not know the block, or cannot tell. */
async function blockOrNone(hash: string, api: ArchiveApi, signal: AbortSignal): Promise<ChainBlock | null> {
  try {
    return await askForBlock(hash, api, signal);
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return null;
    throw error;
  }
}

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
  try {
    return await ofTransaction(parseTxId(name.versionHash), api, signal);
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return null;
    throw error;
  }
}

async function ofTransaction(txid: TxId, api: ArchiveApi, signal: AbortSignal): Promise<Found> {
  const { hashType, versionHash } = decodeTransaction(await api.json(`v1/transactions/${txid}`, { signal }), txid);
  const name = { hashType, versionHash };
  return { name, txid, record: await recordOrNone(name, api, signal) };
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
