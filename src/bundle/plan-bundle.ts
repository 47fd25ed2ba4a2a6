import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { CID } from 'multiformats/cid';
import type { BundledOccurrence } from '../catalog/audit-snapshot.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { WithheldEntry } from '../catalog/withheld-ledger.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { digestOfBlock, digestText, InventoryTree, spanOf, zeroHoldings } from '../verify/inventory.ts';
import { type CarBlock, carHeader, nodeBlock, sectionHead } from './car-block.ts';
import { BundleError } from './errors.ts';
import type { ExportEvent, NotExported } from './export-report.ts';
import { BUNDLE_FORMAT, BUNDLE_VERSION, MAX_PARTS, type Manifest } from './manifest.ts';
import { PartBuilder, type PlannedPart, type RecordText } from './part-builder.ts';

export interface BundleRange extends HeightRange {
  readonly chain: BlockHash;
  readonly blockHash: BlockHash;
}

export interface PlannedBundle {
  readonly manifest: Manifest;
  readonly root: CarBlock;
  /** Range and node of each part. */
  readonly parts: readonly (HeightRange & { readonly cid: CID })[];
  /** Size of the whole bundle. */
  readonly sizeBytes: number;
  readonly notExportedCount: number;
  readonly notExported: readonly NotExported[];
}

const STEP_BLOCKS = 128;
const MAX_LISTED = 1_000;

/** Goes through the range once, without the bytes of blobs: the root of a bundle stands before all that follows from it. */
export async function planBundle(
  range: BundleRange,
  catalog: Pick<Catalog, 'snapshot'>,
  hasher: BlobHasher,
  recordText: RecordText,
  report: (event: ExportEvent) => void,
  signal: AbortSignal,
): Promise<PlannedBundle> {
  const { from, to, chain, blockHash } = range;
  const tree = new InventoryTree(hasher);
  const counts = zeroHoldings();
  const notExported: NotExported[] = [];
  const parts: (HeightRange & { readonly cid: CID })[] = [];
  const count = { blobs: 0, blobBytes: 0, records: 0, notExported: 0, sectionBytes: 0 };
  let builder = new PartBuilder(recordText);
  const endPart = () => {
    if (builder.isEmpty) return;
    const part = builder.part();
    if (parts.length === MAX_PARTS) throw tooMany(range, part);
    parts.push({ from: part.from, to: part.to, cid: part.node.cid });
    count.sectionBytes += sectionBytes(part.node);
    for (const section of part.sections) {
      const sizeBytes = section.kind === 'blob' ? section.sizeBytes : section.bytes.length;
      count.sectionBytes += sectionHead(section.cid, sizeBytes).length + sizeBytes;
      if (section.kind === 'record') count.records += 1;
      else {
        count.blobs += 1;
        count.blobBytes += sizeBytes;
      }
    }
    builder = new PartBuilder(recordText);
  };
  for await (const block of blocksOf(range, range.from, catalog, signal)) {
    for (const { holding, isFirst, hashType, versionHash, height } of block) {
      counts[holding] += 1;
      if (!isFirst || (holding !== 'missing' && holding !== 'lost')) continue;
      count.notExported += 1;
      if (notExported.length < MAX_LISTED) notExported.push({ hashType, versionHash, height, holding });
    }
    const planned = await builder.add(block);
    tree.add({ level: 0, index: planned.height }, digestOfBlock(hasher, planned));
    report({ event: 'planning', height: planned.height, to });
    if (builder.isFull) endPart();
  }
  endPart();
  const { blobs, blobBytes, records } = count;
  const inventory = digestText(tree.root(spanOf(from, to)));
  const links = parts.map(({ cid }) => cid);
  const about = { format: BUNDLE_FORMAT, version: BUNDLE_VERSION, chain, from, to, blockHash } as const;
  const manifest: Manifest = { ...about, inventory, counts, blobs, blobBytes, records, parts: links };
  const root = nodeBlock(manifest);
  const sizeBytes = carHeader(root.cid).length + sectionBytes(root) + count.sectionBytes;
  return { manifest, root, parts, sizeBytes, notExportedCount: count.notExported, notExported };
}

/** Each part once more, as the archive has it now. @throws BundleError `bundle/changed` where that is something else. */
export async function* partsAgain(
  range: BundleRange,
  parts: PlannedBundle['parts'],
  catalog: Pick<Catalog, 'snapshot'>,
  recordText: RecordText,
  signal: AbortSignal,
): AsyncGenerator<PlannedPart> {
  for (const { from, to, cid } of parts) {
    const builder = new PartBuilder(recordText);
    for await (const block of blocksOf({ from, to }, range.from, catalog, signal)) await builder.add(block);
    const part = builder.part();
    if (!part.node.cid.equals(cid)) throw changed(from, to);
    yield part;
  }
}

/** The take-downs that are in force, to be compared at the end of an export. */
export function takeDowns({ withheld }: Pick<Catalog, 'withheld'>): ReadonlySet<string> {
  return new Set(withheld.list().map(keyOf));
}

/**
 * Refuses a bundle in which bytes may stand that were taken down while it was written.
 * @throws BundleError `bundle/changed`
 */
export function refuseTakenDown(
  { from, to }: HeightRange,
  before: ReadonlySet<string>,
  { withheld, chain }: Pick<Catalog, 'withheld' | 'chain'>,
): void {
  for (const entry of withheld.list()) {
    // Withheld all the while, if only by another archiver: its bytes are not in the bundle.
    if (withheld.find(entry).some((one) => before.has(keyOf(one)))) continue;
    const [occurrence] = chain.occurrences(entry, { height: from, transactionIndex: -1 }, 1);
    if (occurrence !== undefined && occurrence.height <= to) throw changed(from, to);
  }
}

/** A take-down that was revoked and made again has another time. */
function keyOf({ hashType, versionHash, archiver, atMs }: WithheldEntry): string {
  return `${hashType}/${versionHash}/${archiver}/${atMs}`;
}

export function changed(from: number, to: number): BundleError {
  const message = `What the archive holds at heights ${from} to ${to} has changed since the export began.`;
  return new BundleError('bundle/changed', message, {
    details: { from, to },
    retryable: true,
    hint: 'Type the command again: it begins with what is so now, and keeps of the file what is still right.',
  });
}

/** The occurrences of each block that has any. No snapshot lives for long: the log of the catalog would grow meanwhile. */
async function* blocksOf(
  { from, to }: HeightRange,
  first: number,
  catalog: Pick<Catalog, 'snapshot'>,
  signal: AbortSignal,
): AsyncGenerator<readonly BundledOccurrence[]> {
  for (let begin = from; begin <= to; begin += STEP_BLOCKS) {
    signal.throwIfAborted();
    const snapshot = catalog.snapshot();
    try {
      const rows = snapshot.bundled(first, begin, Math.min(to, begin + STEP_BLOCKS - 1));
      yield* Map.groupBy(rows, ({ height }) => height).values();
    } finally {
      snapshot.close();
    }
    await letOthersWork();
  }
}

function sectionBytes({ cid, bytes }: CarBlock): number {
  return sectionHead(cid, bytes.length).length + bytes.length;
}

function tooMany({ from }: BundleRange, { from: height }: PlannedPart): BundleError {
  return new BundleError('bundle/too-many', `One bundle cannot hold more than the blocks ${from} to ${height - 1}.`, {
    details: { from, height },
    retryable: false,
    hint: `Export the range in two: the first with --to-height ${height - 1}.`,
  });
}
