import { parseTxId, type TxId } from '../core/blob/ids.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { doubleSha256 } from './double-sha256.ts';
import { VerifyError } from './errors.ts';
import { toDisplayHex } from './hash-bytes.ts';

/** Previous output (36), empty script (1), sequence (4). */
const MIN_INPUT_BYTES = 41;
/** Value (8), empty script (1). */
const MIN_OUTPUT_BYTES = 9;
const HASH_BYTES = 32;
const PREVIOUS_OUTPUT_BYTES = HASH_BYTES + 4;
const VERSION_BYTES = 4;
const LOCK_TIME_BYTES = 4;
const WITNESS_FLAG = 1;

/** Names the output that an input spends. */
export interface SpentOutput {
  readonly txid: TxId;
  readonly vout: number;
}

export interface TransactionOutput {
  readonly valueSats: bigint;
  readonly script: Uint8Array;
}

/** Offsets of a transaction's parts within the bytes that it was read from. */
interface Layout {
  readonly start: number;
  /** The count of inputs, and all up to the end of the outputs: what witness and legacy form share. */
  readonly bodyStart: number;
  readonly outputsStart: number;
  readonly bodyEnd: number;
  readonly end: number;
}

/** A transaction that was parsed without allocations: outputs and id are computed on demand. */
export class Transaction {
  /** Signed. 137 carries a blob. */
  readonly version: number;
  readonly #bytes: Uint8Array;
  readonly #layout: Layout;
  #hash: Uint8Array | undefined;
  #txid: TxId | undefined;

  constructor(bytes: Uint8Array, version: number, layout: Layout) {
    this.#bytes = bytes;
    this.version = version;
    this.#layout = layout;
  }

  /** Serialised transaction with its witnesses; shares memory with the input. */
  get raw(): Uint8Array {
    return this.#bytes.subarray(this.#layout.start, this.#layout.end);
  }

  get txid(): TxId {
    this.#txid ??= parseTxId(toDisplayHex(this.hash));
    return this.#txid;
  }

  /** The id as 32 bytes in the order of the wire: double SHA-256 of the form without witnesses (BIP 141). */
  get hash(): Uint8Array {
    this.#hash ??= doubleSha256(...this.#strippedParts());
    return this.#hash;
  }

  get hasWitness(): boolean {
    return this.#layout.bodyStart !== this.#layout.start + VERSION_BYTES;
  }

  /** 32 bytes in the order of the wire: double SHA-256 of all of it (BIP 141). */
  get witnessHash(): Uint8Array {
    return this.hasWitness ? doubleSha256(this.raw) : this.hash;
  }

  /** The witness of the first input, item by item; a coinbase has one input. */
  firstWitness(): Uint8Array[] {
    if (!this.hasWitness) return [];
    const { bodyEnd, end } = this.#layout;
    const reader = new ByteReader(this.#bytes.subarray(bodyEnd, end));
    return Array.from({ length: reader.count(1, 'witness items') }, () => reader.prefixed('a witness item'));
  }

  /** The script of the first input, which in a coinbase is free text; null: there is no input. */
  firstInputScript(): Uint8Array | null {
    const { bodyStart, outputsStart } = this.#layout;
    const reader = new ByteReader(this.#bytes.subarray(bodyStart, outputsStart));
    if (reader.count(MIN_INPUT_BYTES, 'inputs') === 0) return null;
    reader.skip(PREVIOUS_OUTPUT_BYTES, 'a previous output');
    return reader.prefixed('an input script');
  }

  /** The outputs that its inputs spend, in the order of the inputs. */
  spentOutputs(): SpentOutput[] {
    const { bodyStart, outputsStart } = this.#layout;
    const reader = new ByteReader(this.#bytes.subarray(bodyStart, outputsStart));
    return Array.from({ length: reader.count(MIN_INPUT_BYTES, 'inputs') }, () => {
      const txid = parseTxId(toDisplayHex(reader.take(HASH_BYTES, 'a previous transaction')));
      const vout = reader.u32('the number of a previous output');
      reader.skipPrefixed('an input script');
      reader.skip(4, 'a sequence');
      return { txid, vout };
    });
  }

  /** Serialised transaction without its witnesses. */
  get stripped(): Uint8Array {
    const writer = new ByteWriter();
    for (const part of this.#strippedParts()) writer.bytes(part);
    return writer.finish();
  }

  outputs(): TransactionOutput[] {
    const reader = new ByteReader(this.#bytes.subarray(this.#layout.outputsStart, this.#layout.bodyEnd));
    return Array.from({ length: reader.count(MIN_OUTPUT_BYTES, 'outputs') }, () => ({
      valueSats: reader.u64('an output value'),
      script: reader.prefixed('an output script'),
    }));
  }

  #strippedParts(): readonly Uint8Array[] {
    const { start, bodyStart, bodyEnd, end } = this.#layout;
    if (!this.hasWitness) return [this.raw];
    return [
      this.#bytes.subarray(start, start + VERSION_BYTES),
      this.#bytes.subarray(bodyStart, bodyEnd),
      this.#bytes.subarray(end - LOCK_TIME_BYTES, end),
    ];
  }
}

/** Exactly one transaction. @throws VerifyError */
export function parseTransaction(bytes: Uint8Array): Transaction {
  const reader = new ByteReader(bytes);
  const transaction = readTransaction(reader);
  reader.end('the transaction');
  return transaction;
}

/** Walks over one transaction, legacy or with witnesses (BIP 144). @throws VerifyError */
export function readTransaction(reader: ByteReader): Transaction {
  const start = reader.offset;
  const version = reader.i32('the version of a transaction');
  let bodyStart = reader.offset;
  let inputs = reader.count(MIN_INPUT_BYTES, 'inputs');
  const withWitness = inputs === 0 && readWitnessFlag(reader);
  if (withWitness) {
    bodyStart = reader.offset;
    inputs = reader.count(MIN_INPUT_BYTES, 'inputs');
  }
  for (let left = inputs; left > 0; left -= 1) {
    reader.skip(PREVIOUS_OUTPUT_BYTES, 'a previous output');
    reader.skipPrefixed('an input script');
    reader.skip(4, 'a sequence');
  }
  // Neither inputs nor the flag: what was read as the flag is the count of outputs, and it is 0.
  const outputsStart = inputs === 0 && !withWitness ? reader.offset - 1 : reader.offset;
  if (outputsStart === reader.offset) skipOutputs(reader);
  const bodyEnd = reader.offset;
  if (withWitness) skipWitnesses(reader, inputs);
  reader.skip(LOCK_TIME_BYTES, 'the lock time');
  return new Transaction(reader.bytes, version, { start, bodyStart, outputsStart, bodyEnd, end: reader.offset });
}

function readWitnessFlag(reader: ByteReader): boolean {
  const flag = reader.u8('the witness flag');
  if (flag === 0 || flag === WITNESS_FLAG) return flag === WITNESS_FLAG;
  throw new VerifyError('verify/malformed', `A transaction has the flag ${flag}; only ${WITNESS_FLAG} is known.`, {
    details: { offset: reader.offset, flag },
  });
}

function skipOutputs(reader: ByteReader): void {
  for (let left = reader.count(MIN_OUTPUT_BYTES, 'outputs'); left > 0; left -= 1) {
    reader.skip(8, 'an output value');
    reader.skipPrefixed('an output script');
  }
}

/** The node refuses the witness form where no input has a witness: two forms would have one id. */
function skipWitnesses(reader: ByteReader, inputs: number): void {
  let items = 0;
  for (let input = 0; input < inputs; input += 1) {
    const count = reader.count(1, 'witness items');
    for (let left = count; left > 0; left -= 1) reader.skipPrefixed('a witness item');
    items += count;
  }
  if (items > 0) return;
  throw new VerifyError('verify/malformed', 'A transaction is flagged for witnesses and has none.', {
    details: { offset: reader.offset },
  });
}
