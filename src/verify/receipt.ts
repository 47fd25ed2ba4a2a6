import {
  type BlockHash,
  type ContentName,
  HASH_TYPES,
  type HashType,
  type NamedHash,
  parseBlockHash,
  parseTxId,
  parseVersionHash,
  type TxId,
} from '../core/blob/ids.ts';
import { checkAttestation, keysOf } from './attestation.ts';
import { KEY_BYTES, looksLikeSigned, parseSigned, type SignedByKey } from './signed-statement.ts';
import {
  countOf,
  exactly,
  type Fields,
  fieldsOf,
  formatOf,
  heightIn,
  hex,
  refused,
  time,
  word,
} from './statement-fields.ts';

/**
 * An archiver says of one blob that it is stored and that this occurrence of it is final. `kind` parts it from whatever else the
 * same key signs.
 */
export interface ReceiptStatement extends ContentName {
  readonly kind: 'holdfast/receipt';
  readonly format: 1;
  /** Id of the archiver, which also names its folder below `audit/` on its backends. */
  readonly archiver: string;
  /** The public key, 32 bytes in hex. */
  readonly key: string;
  /** The genesis block. */
  readonly chain: BlockHash;
  readonly sizeBytes: number;
  /** `stored`: read back and hashed again on as many backends as the archiver requires. */
  readonly state: 'stored-and-final';
  readonly txid: TxId;
  readonly vout: number;
  readonly height: number;
  readonly blockHash: BlockHash;
  /** A moment at which it was so. */
  readonly at: string;
}

export type Receipt = SignedByKey<ReceiptStatement>;

export interface ReceiptStep {
  readonly step: 'signature' | 'keys' | 'key' | 'name';
  readonly ok: boolean;
  readonly says: string;
}

export interface ReceiptContradiction {
  readonly kind: 'other-block' | 'other-content';
  readonly says: string;
}

const FIELDS =
  'kind format archiver key chain hashType versionHash sizeBytes state txid vout height blockHash at'.split(' ');

/** Reports whether a text is meant to be a receipt. `parseReceipt` says what is wrong with it. */
export function looksLikeReceipt(text: string): boolean {
  return looksLikeSigned('receipt', text);
}

/** @throws VerifyError `verify/receipt` */
export function parseReceipt(json: string): Receipt {
  return parseSigned('receipt', json, statementOf);
}

/**
 * Checks the signatures, that they lead from one of the keys that the caller knows (null: it knows none), and that the receipt is
 * of the blob that is meant (null: of whichever). It is the word of who signed it, and no proof that it is true.
 */
export async function checkReceipt(
  receipt: Receipt,
  knownKeys: readonly string[] | null,
  name: NamedHash | null,
): Promise<ReceiptStep[]> {
  const own = keysOf(receipt);
  const known = knownKeys === null ? null : (knownKeys.find((key) => own.includes(key)) ?? knownKeys[0] ?? '');
  const steps: ReceiptStep[] = [...(await checkAttestation(receipt, known))];
  if (name === null) return steps;
  const { hashType, versionHash } = receipt.statement;
  const ok = versionHash === name.versionHash && (name.hashType === null || name.hashType === hashType);
  return [...steps, { step: 'name', ok, says: `It is of ${hashType} ${versionHash}.` }];
}

/**
 * Reports whether two receipts of one archiver contradict each other. The signatures of both must have been checked. What is final is
 * so for good: a height has one block, a transaction one place, an output one blob, and a blob one size.
 */
export function receiptContradictionOf(one: Receipt, other: Receipt): ReceiptContradiction | null {
  const [a, b] = [one.statement, other.statement];
  const isOfOne = keysOf(one).includes(b.key) || keysOf(other).includes(a.key);
  if (!isOfOne || a.chain !== b.chain) return null;
  if (a.blockHash !== b.blockHash && (a.height === b.height || a.txid === b.txid)) {
    const subject = a.height === b.height ? `at height ${a.height}` : `for the transaction ${a.txid}`;
    return { kind: 'other-block', says: `It named two final blocks ${subject}: ${a.blockHash} and ${b.blockHash}.` };
  }
  const isSameBlob = a.hashType === b.hashType && a.versionHash === b.versionHash;
  if (a.txid === b.txid && a.vout === b.vout && !isSameBlob)
    return { kind: 'other-content', says: `It named two blobs in output ${a.vout} of the transaction ${a.txid}.` };
  if (isSameBlob && a.sizeBytes !== b.sizeBytes)
    return { kind: 'other-content', says: `It gave one blob ${a.sizeBytes} and ${b.sizeBytes} bytes.` };
  return null;
}

function statementOf(value: unknown): ReceiptStatement {
  const fields = exactly(fieldsOf(value), FIELDS);
  return {
    kind: word(fields, 'kind', 'holdfast/receipt'),
    format: formatOf(fields),
    archiver: hex(fields, 'archiver', 8),
    key: hex(fields, 'key', KEY_BYTES),
    chain: parseBlockHash(hex(fields, 'chain', 32)),
    hashType: hashTypeIn(fields),
    versionHash: parseVersionHash(hex(fields, 'versionHash', 32)),
    sizeBytes: countOf(fields, 'sizeBytes'),
    state: word(fields, 'state', 'stored-and-final'),
    txid: parseTxId(hex(fields, 'txid', 32)),
    vout: countOf(fields, 'vout'),
    height: heightIn(fields.get('height')),
    blockHash: parseBlockHash(hex(fields, 'blockHash', 32)),
    at: time(fields),
  };
}

function hashTypeIn(fields: Fields): HashType {
  const found = HASH_TYPES.find((one) => one === fields.get('hashType'));
  if (found !== undefined) return found;
  throw refused(`hashType is none of ${HASH_TYPES.join(', ')}`);
}
