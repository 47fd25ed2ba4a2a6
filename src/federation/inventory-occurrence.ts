import { encodeHex } from '../core/blob/hex.ts';
import { type ContentName, parseTxId, parseVersionHash, type TxId } from '../core/blob/ids.ts';
import { hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { type InventoryBlock, OCCURRENCE_BYTES } from '../verify/inventory.ts';

export interface InventoryOccurrence extends ContentName {
  readonly txid: TxId;
  readonly vout: number;
  readonly height: number;
}

/** The occurrences of a block in an inventory, in the order of the block. Each is taken apart only when it is asked for. */
export function occurrencesIn({ height, occurrences }: InventoryBlock): (() => InventoryOccurrence)[] {
  const packed = Array.from({ length: occurrences.length / OCCURRENCE_BYTES }, (_, index) =>
    occurrences.subarray(index * OCCURRENCE_BYTES, (index + 1) * OCCURRENCE_BYTES),
  );
  return packed.map((one) => () => ({
    txid: parseTxId(encodeHex(one.subarray(0, 32))),
    vout: new DataView(one.buffer, one.byteOffset).getUint32(32),
    hashType: hashTypeFrom(one[36] ?? 0),
    versionHash: parseVersionHash(encodeHex(one.subarray(37, 69))),
    height,
  }));
}
