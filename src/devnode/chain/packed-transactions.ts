import { HASH_TYPES, parseTxId, parseVersionHash } from '../../core/blob/ids.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Content } from './content.ts';
import { createTransaction, type Transaction, type TransactionInput, type TransactionOutput } from './transaction.ts';

const NO_CONTENT = 0;
const LABELLED = 1;
const STORED = 2;
const COINBASE_PREVIOUS = '0'.repeat(64);

/**
 * Transactions of an old block in one buffer, at a tenth of the memory of objects. A chain that mines for days must not
 * fill its process. Each access decodes them again.
 */
export class PackedTransactions {
  readonly #bytes: Buffer;
  /** Contents with submitted bytes, which are stored elsewhere. */
  readonly #stored: Content[] = [];

  constructor(transactions: readonly Transaction[]) {
    const writer = new ByteWriter().compactSize(transactions.length);
    for (const transaction of transactions) {
      writer.u64(transaction.feeSats).prefixed(transaction.raw);
      this.#packContent(writer, transaction.content);
    }
    const packed = writer.finish();
    // A small buffer of the pool would keep its whole slab alive.
    this.#bytes = Buffer.allocUnsafeSlow(packed.length);
    packed.copy(this.#bytes);
  }

  unpack(): Transaction[] {
    const reader = new ByteReader(this.#bytes);
    return Array.from({ length: reader.compactSize() }, () => {
      const feeSats = reader.u64();
      const raw = reader.bytes(reader.compactSize());
      return parseTransaction(raw, feeSats, this.#unpackContent(reader));
    });
  }

  #packContent(writer: ByteWriter, content: Content | null): void {
    if (content === null) writer.u8(NO_CONTENT);
    else if (content.source.kind === 'stored') {
      writer.u8(STORED).u32(this.#stored.length);
      this.#stored.push(content);
    } else {
      writer.u8(LABELLED).u8(HASH_TYPES.indexOf(content.hashType)).u32(content.sizeBytes);
      writer.bytes(Buffer.from(content.versionHash, 'hex')).prefixed(Buffer.from(content.source.label));
    }
  }

  #unpackContent(reader: ByteReader): Content | null {
    const kind = reader.u8();
    if (kind === NO_CONTENT) return null;
    if (kind === STORED) return this.#stored[reader.u32()] ?? null;
    const hashType = HASH_TYPES[reader.u8()] ?? 'keccak256';
    const sizeBytes = reader.u32();
    const versionHash = parseVersionHash(reader.bytes(32).toString('hex'));
    return { hashType, sizeBytes, versionHash, source: { kind: 'label', label: reader.prefixed().toString() } };
  }
}

function parseTransaction(raw: Buffer, feeSats: bigint, content: Content | null): Transaction {
  const reader = new ByteReader(raw);
  const version = reader.u32();
  reader.bytes(2);
  const inputs = Array.from({ length: reader.compactSize() }, (): Omit<TransactionInput, 'witness'> => {
    const txid = reader.rpcHash();
    const vout = reader.u32();
    const previous = txid === COINBASE_PREVIOUS ? null : { txid: parseTxId(txid), vout };
    return { previous, script: reader.prefixed(), sequence: reader.u32() };
  });
  const outputs = Array.from({ length: reader.compactSize() }, (): TransactionOutput => {
    return { valueSats: reader.u64(), script: reader.prefixed() };
  });
  const witnessed = inputs.map((input): TransactionInput => {
    return { ...input, witness: Array.from({ length: reader.compactSize() }, () => reader.prefixed()) };
  });
  return createTransaction({ version, inputs: witnessed, outputs, lockTime: reader.u32(), feeSats, content });
}
