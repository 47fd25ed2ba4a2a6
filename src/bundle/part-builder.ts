import type { CID } from 'multiformats/cid';
import type { BundledOccurrence } from '../catalog/audit-snapshot.ts';
import { blobCid } from '../core/blob/cid.ts';
import { decodeHex } from '../core/blob/hex.ts';
import { HASH_TYPES } from '../core/blob/ids.ts';
import { HOLDINGS, type InventoryBlock, OCCURRENCE_BYTES } from '../verify/inventory.ts';
import { type CarBlock, documentBlock, nodeBlock } from './car-block.ts';
import { type BundlePart, PART_OCCURRENCES, PART_RECORD_BYTES } from './manifest.ts';

/** Sections of a bundle after their part. The bytes of a blob are fetched when they are written. */
export type PlannedSection =
  | { readonly kind: 'record'; readonly cid: CID; readonly bytes: Uint8Array }
  | { readonly kind: 'blob'; readonly cid: CID; readonly occurrence: BundledOccurrence; readonly sizeBytes: number };

/** The text of a record, proven; rejects where there is none. */
export type RecordText = (occurrence: BundledOccurrence, sizeBytes: number) => Promise<string>;

export interface PlannedPart {
  readonly from: number;
  readonly to: number;
  readonly node: CarBlock;
  readonly sections: readonly PlannedSection[];
}

const VOUT_AT = 32;
const TYPE_AT = 36;
const NAME_AT = 37;

/** Makes a part of a bundle out of blocks of the chain, in their order. */
export class PartBuilder {
  readonly #recordText: RecordText;
  readonly #blocks: InventoryBlock[] = [];
  readonly #sections: PlannedSection[] = [];
  #occurrences = 0;
  #recordBytes = 0;

  constructor(recordText: RecordText) {
    this.#recordText = recordText;
  }

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** Whether the part ends here. The blocks alone decide that, so that every archive ends it at the same one. */
  get isFull(): boolean {
    return this.#occurrences >= PART_OCCURRENCES || this.#recordBytes >= PART_RECORD_BYTES;
  }

  /** Every occurrence of one block. Gives the block as the inventory has it. */
  async add(occurrences: readonly BundledOccurrence[]): Promise<InventoryBlock> {
    for (const occurrence of occurrences) {
      const { holding, sizeBytes, isRecorded, isFirst } = occurrence;
      if (holding !== 'stored' || sizeBytes === null) continue;
      if (isRecorded) {
        const record = documentBlock(await this.#recordText(occurrence, sizeBytes));
        this.#sections.push({ kind: 'record', ...record });
        this.#recordBytes += record.bytes.length;
      }
      if (isFirst) this.#sections.push({ kind: 'blob', cid: blobCid(occurrence), occurrence, sizeBytes });
    }
    const block = inventoryBlock(occurrences);
    this.#blocks.push(block);
    this.#occurrences += occurrences.length;
    return block;
  }

  part(): PlannedPart {
    const linksTo = (kind: PlannedSection['kind']) =>
      this.#sections.filter((section) => section.kind === kind).map(({ cid }) => cid);
    const part: BundlePart = {
      blocks: this.#blocks.map(({ height, blockHash, occurrences }) => [height, blockHash, occurrences]),
      blobs: linksTo('blob'),
      records: linksTo('record'),
    };
    const from = this.#blocks[0]?.height ?? 0;
    const to = this.#blocks.at(-1)?.height ?? from;
    return { from, to, node: nodeBlock(part), sections: this.#sections };
  }
}

function inventoryBlock(occurrences: readonly BundledOccurrence[]): InventoryBlock {
  const packed = new Uint8Array(occurrences.length * OCCURRENCE_BYTES);
  const view = new DataView(packed.buffer);
  for (const [index, { txid, vout, hashType, versionHash, holding }] of occurrences.entries()) {
    const at = index * OCCURRENCE_BYTES;
    packed.set(decodeHex(txid), at);
    view.setUint32(at + VOUT_AT, vout);
    packed[at + TYPE_AT] = HASH_TYPES.indexOf(hashType) + 1;
    packed.set(decodeHex(versionHash), at + NAME_AT);
    packed[at + OCCURRENCE_BYTES - 1] = HOLDINGS.indexOf(holding);
  }
  const [first] = occurrences;
  return { height: first?.height ?? 0, blockHash: decodeHex(first?.blockHash ?? ''), occurrences: packed };
}
