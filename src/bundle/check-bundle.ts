import type { CID } from 'multiformats/cid';
import { blobCid } from '../core/blob/cid.ts';
import { messageOf } from '../core/blob/errors.ts';
import { encodeHex } from '../core/blob/hex.ts';
import { HASH_TYPES, parseVersionHash } from '../core/blob/ids.ts';
import { giveBackMemory } from '../core/blob/lent-memory.ts';
import { parseOccurrenceRecord } from '../verify/decode-occurrence-record.ts';
import { VerifyError } from '../verify/errors.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import {
  digestOfBlock,
  digestText,
  HOLDINGS,
  type HoldingCounts,
  InventoryTree,
  OCCURRENCE_BYTES,
  spanOf,
  zeroHoldings,
} from '../verify/inventory.ts';
import { verifyBlob } from '../verify/verified-blob.ts';
import { verifyOccurrence } from '../verify/verify-occurrence.ts';
import type { ByteStream } from './byte-stream.ts';
import { type CarPart, carParts } from './car-parts.ts';
import type { NamedReason } from './import-report.ts';
import type { BundlePart, Manifest } from './manifest.ts';
import { shownPath } from './part.ts';
import { SeenNames } from './seen-names.ts';

export interface CheckedBundle {
  /** null: it has none, so that nothing says what belongs into it. */
  readonly manifest: Omit<Manifest, 'parts'> | null;
  readonly root: string | null;
  /** Blobs whose bytes hash to their names. */
  readonly blobs: number;
  readonly blobBytes: number;
  /** Records that lead from an output of a transaction to the header that they hold. */
  readonly records: number;
  readonly wrongCount: number;
  /** The first ones of a long list. */
  readonly wrong: readonly NamedReason[];
}

const MAX_LISTED = 1_000;
const NO_BYTES = new Uint8Array();
const VOUT_AT = 32;
const TYPE_AT = 36;
const NAME_AT = 37;

/** Checks a bundle by itself: every byte, every record, that nothing is missing, and the inventory that the manifest states. */
export async function checkBundle(path: string, stream: ByteStream, hasher: BlobHasher): Promise<CheckedBundle> {
  const check = new BundleCheck(path, hasher);
  for await (const part of carParts(path, stream)) check.take(part);
  return check.end();
}

class BundleCheck {
  readonly #path: string;
  readonly #hasher: BlobHasher;
  readonly #tree: InventoryTree;
  readonly #counts = zeroHoldings();
  readonly #wrong: NamedReason[] = [];
  /** CIDs that the latest part lists and that have not come yet. */
  #awaited = new Set<string>();
  /** Occurrences that the records of this part may prove. */
  #occurrences = new Set<string>();
  /** Blobs that a part listed: each stands at its first occurrence, and none is stored without it. */
  readonly #listed = new SeenNames();
  #parts = 0;
  #lastHeight = -1;
  #root: CID | null = null;
  #manifest: Manifest | null = null;
  readonly #count = { blobs: 0, blobBytes: 0, records: 0, wrong: 0 };

  constructor(path: string, hasher: BlobHasher) {
    this.#path = path;
    this.#hasher = hasher;
    this.#tree = new InventoryTree(hasher);
  }

  take(part: CarPart): void {
    switch (part.kind) {
      case 'manifest':
        this.#manifest = part.manifest;
        this.#root = part.cid;
        break;
      case 'part':
        this.#takePart(part.path, part.cid, part.part);
        break;
      case 'record':
        if (this.#isAwaited(part.path, part.cid)) this.#takeRecord(part.path, part.text);
        break;
      case 'named':
        if (this.#isAwaited(part.path, part.cid)) this.#takeBlob(part.path, part);
        giveBackMemory(part.bytes);
        break;
      case 'unusable':
        this.#tell(part.path, part.why);
        break;
      default:
        part satisfies never;
    }
  }

  end(): CheckedBundle {
    this.#endPart();
    const manifest = this.#manifest;
    if (manifest === null) this.#tell(this.#path, 'It has no manifest: nothing says what belongs into it.');
    else this.#compare(manifest);
    const { blobs, blobBytes, records, wrong: wrongCount } = this.#count;
    return {
      manifest: manifest === null ? null : withoutParts(manifest),
      root: this.#root?.toString() ?? null,
      blobs,
      blobBytes,
      records,
      wrongCount,
      wrong: this.#wrong,
    };
  }

  #takePart(path: string, cid: CID, { blocks, blobs, records }: BundlePart): void {
    this.#endPart();
    if (this.#manifest?.parts[this.#parts]?.equals(cid) !== true) {
      this.#tell(path, 'It is not the part that the manifest has here.');
      return;
    }
    this.#parts += 1;
    this.#awaited = new Set([...records, ...blobs].map((link) => link.toString()));
    const listed = new Set<string>(blobs.map((link) => link.toString()));
    for (const [height, blockHash, occurrences] of blocks) {
      if (height <= this.#lastHeight || height < this.#manifest.from || height > this.#manifest.to) {
        this.#tell(path, `Block ${height} does not belong there.`);
        return;
      }
      this.#lastHeight = height;
      this.#tree.add({ level: 0, index: height }, digestOfBlock(this.#hasher, { height, blockHash, occurrences }));
      for (let at = 0; at < occurrences.length; at += OCCURRENCE_BYTES) {
        this.#takeOccurrence(path, height, blockHash, occurrences.subarray(at, at + OCCURRENCE_BYTES), listed);
      }
    }
    if (listed.size > 0) this.#tell(path, 'It lists blobs that none of its blocks has.');
  }

  #takeOccurrence(path: string, height: number, blockHash: Uint8Array, one: Uint8Array, listed: Set<string>): void {
    const holding = HOLDINGS[one[OCCURRENCE_BYTES - 1] ?? -1];
    const hashType = HASH_TYPES[(one[TYPE_AT] ?? 0) - 1];
    if (holding === undefined || hashType === undefined) {
      this.#tell(path, `Block ${height} has an occurrence that says nothing known.`);
      return;
    }
    this.#counts[holding] += 1;
    const versionHash = parseVersionHash(encodeHex(one.subarray(NAME_AT, NAME_AT + 32)));
    const vout = new DataView(one.buffer, one.byteOffset).getUint32(VOUT_AT);
    this.#occurrences.add(
      occurrenceText({
        hashType,
        versionHash,
        txid: encodeHex(one.subarray(0, VOUT_AT)),
        vout,
        height,
        blockHash: encodeHex(blockHash),
      }),
    );
    if (holding !== 'stored') return;
    const cid = blobCid({ hashType, versionHash }).toString();
    if (listed.delete(cid)) this.#listed.add(cid);
    else if (!this.#listed.has(cid))
      this.#tell(path, `Block ${height} has the stored blob ${cid}, and the bundle has not.`);
  }

  #takeBlob(path: string, { name, bytes }: CarPart & { readonly kind: 'named' }): void {
    if (verifyBlob({ ...name, bytes }, this.#hasher) === null) {
      this.#tell(path, 'Its bytes are not what its CID says.');
      return;
    }
    this.#count.blobs += 1;
    this.#count.blobBytes += bytes.length;
  }

  #takeRecord(path: string, text: string): void {
    try {
      const record = parseOccurrenceRecord(text);
      const failed = verifyOccurrence(NO_BYTES, record, { hasher: this.#hasher }).steps.find(
        ({ step, ok }) => step !== 'bytes' && !ok,
      );
      const isListed = this.#occurrences.has(occurrenceText(record));
      if (failed !== undefined || !isListed) this.#tell(path, failed?.says ?? 'Its part lists no such occurrence.');
      else this.#count.records += 1;
    } catch (error) {
      if (!(error instanceof VerifyError)) throw error;
      this.#tell(path, messageOf(error));
    }
  }

  /** A block that the part does not list, or that came before, is foreign. */
  #isAwaited(path: string, cid: CID): boolean {
    const isAwaited = this.#awaited.delete(cid.toString());
    if (!isAwaited) this.#tell(path, 'No part that stands before it lists it.');
    return isAwaited;
  }

  #endPart(): void {
    for (const cid of this.#awaited) this.#tell(`${this.#path}: ${cid}`, 'A part lists it, and it is not there.');
    this.#awaited.clear();
    this.#occurrences.clear();
  }

  #compare({ from, to, inventory, counts, parts, blobs, blobBytes, records }: Manifest): void {
    const found = digestText(this.#tree.root(spanOf(from, to)));
    if (this.#parts !== parts.length) this.#tell(this.#path, `It has ${this.#parts} of ${parts.length} parts.`);
    else if (found !== inventory) this.#tell(this.#path, `Its inventory is ${found}, its manifest says ${inventory}.`);
    else if (!isSame(counts, this.#counts))
      this.#tell(this.#path, 'Its manifest counts other occurrences than it has.');
    const has = this.#count;
    const isCounted = has.blobs === blobs && has.records === records && has.blobBytes === blobBytes;
    if (!isCounted && has.wrong === 0)
      this.#tell(this.#path, 'Its manifest counts other blobs or records than it has.');
  }

  #tell(path: string, why: string): void {
    this.#count.wrong += 1;
    if (this.#wrong.length < MAX_LISTED) this.#wrong.push({ path: shownPath(path), why });
  }
}

function withoutParts({ parts: _parts, ...about }: Manifest): Omit<Manifest, 'parts'> {
  return about;
}

interface OccurrenceName {
  readonly hashType: string;
  readonly versionHash: string;
  readonly txid: string;
  readonly vout: number;
  readonly height: number;
  readonly blockHash: string;
}

function occurrenceText({ hashType, versionHash, txid, vout, height, blockHash }: OccurrenceName): string {
  return `${height} ${blockHash} ${txid} ${vout} ${hashType} ${versionHash}`;
}

function isSame(a: HoldingCounts, b: HoldingCounts): boolean {
  return HOLDINGS.every((holding) => a[holding] === b[holding]);
}
