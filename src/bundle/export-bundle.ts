import { join } from 'node:path';
import type { BundledOccurrence } from '../catalog/audit-snapshot.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { OccurrenceProofs } from '../chain/occurrence-proofs.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import { assertUpright } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { S3Bucket } from '../storage/s3/s3-bucket.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { encodeOccurrenceRecord } from '../verify/occurrence-record.ts';
import { verifyBlob } from '../verify/verified-blob.ts';
import { type GivenBlob, type Reader, ROOM_IS_MADE } from '../view/archive-view.ts';
import { BucketPlace } from './bucket-place.ts';
import { BundleFile, type VolumeReserve } from './bundle-file.ts';
import type { BundlePlace, BundleTarget } from './bundle-target.ts';
import { type CarBlock, carHeader, sectionHead } from './car-block.ts';
import { BundleError } from './errors.ts';
import type { ExportEvent, ExportReport } from './export-report.ts';
import type { PlannedSection } from './part-builder.ts';
import {
  type BundleRange,
  type PlannedBundle,
  partsAgain,
  planBundle,
  refuseTakenDown,
  takeDowns,
} from './plan-bundle.ts';

export interface ExportModules {
  readonly catalog: Catalog;
  readonly hasher: BlobHasher;
  readonly reader: Reader;
  readonly proofs: Pick<OccurrenceProofs, 'recordOf'>;
  readonly folder: VolumeReserve & {
    /** The chain that the data folder is bound to; null: to none yet. */
    boundChain(): Promise<BlockHash | null>;
  };
  readonly chain: { readonly lacksHistory: boolean };
  readonly catalogRebuild: { readonly isDone: boolean };
  readonly clock: Clock;
}

export interface ExportParameters {
  /** null: where the walk began. */
  readonly fromHeight: number | null;
  /** null: the highest final block. */
  readonly toHeight: number | null;
  /** Path of the bundle; in a folder the bundle gets a name of its own. */
  readonly file: string | null;
  readonly folder: string | null;
  /** In a bucket, too, the bundle gets a name of its own. */
  readonly bucket: S3Bucket | null;
}

export type ExportResult = ExportReport & { readonly exitCode: 0 | 3 };

/** Blobs that are read ahead of the one that is written: a disk and a hash have work at the same time. */
const AHEAD = 4;
const PROGRESS_MS = 500;

/**
 * Writes what is stored of a range of final blocks as a bundle. A file that an earlier run left unfinished is compared with
 * what belongs there, and continued behind its last whole block.
 * @throws BundleError; ArchiveError `archive/bad-range`
 */
export async function exportBundle(
  { fromHeight, toHeight, ...named }: ExportParameters,
  finalHeight: number | null,
  modules: ExportModules,
  report: (event: ExportEvent) => void,
  signal: AbortSignal,
): Promise<ExportResult> {
  const range = await rangeOf(fromHeight, toHeight, finalHeight, modules);
  const rarely = new Rarely(modules.clock, report);
  const recordText = (occurrence: BundledOccurrence, sizeBytes: number) =>
    textOf(occurrence, sizeBytes, modules, signal);
  const { catalog, hasher } = modules;
  const place = await placeOf(named, range, modules.folder, signal);
  try {
    const takenDown = takeDowns(catalog);
    const plan = await planBundle(range, catalog, hasher, recordText, (event) => rarely.tell(event), signal);
    for (const one of plan.notExported) report({ event: 'not-exported', ...one });
    const target = await place.begin(plan.sizeBytes);
    const writing = new BundleWriting(place.path, target, plan, modules, rarely);
    await writing.begin();
    for await (const part of partsAgain(range, plan.parts, catalog, recordText, signal)) {
      await writing.section({ kind: 'node', ...part.node }, signal);
      for (const section of part.sections) await writing.section(section, signal);
    }
    await writing.flush();
    refuseTakenDown(range, takenDown, catalog);
    await target.finish();
    const { manifest, root, sizeBytes, notExported, notExportedCount } = plan;
    const { format: _format, version: _version, parts: _parts, blockHash: _blockHash, ...about } = manifest;
    const keptBytes = target.keptBytes;
    const done = {
      file: place.path,
      sizeBytes,
      root: root.cid.toString(),
      ...about,
      keptBytes,
      notExported,
      notExportedCount,
    };
    return { exitCode: notExportedCount > 0 ? 3 : 0, ...done };
  } finally {
    await place.close();
  }
}

async function placeOf(
  { file, folder, bucket }: Pick<ExportParameters, 'file' | 'folder' | 'bucket'>,
  { chain, from, to }: BundleRange,
  reserve: VolumeReserve,
  signal: AbortSignal,
): Promise<BundlePlace> {
  const name = `holdfast-${chain.slice(0, 8)}-${from}-${to}.car`;
  if (bucket !== null) return await BucketPlace.open(bucket, name, signal);
  return await BundleFile.open(file ?? join(folder ?? '.', name), reserve);
}

type WrittenSection = PlannedSection | ({ readonly kind: 'node' } & CarBlock);

/** Writes section by section, and reads a few blobs ahead of the one that it writes. */
class BundleWriting {
  readonly #path: string;
  readonly #target: BundleTarget;
  readonly #plan: PlannedBundle;
  readonly #modules: ExportModules;
  readonly #rarely: Rarely;
  readonly #ahead: { readonly section: WrittenSection; readonly bytes: Promise<Uint8Array> }[] = [];
  #blobs = 0;

  constructor(path: string, target: BundleTarget, plan: PlannedBundle, modules: ExportModules, rarely: Rarely) {
    this.#path = path;
    this.#target = target;
    this.#plan = plan;
    this.#modules = modules;
    this.#rarely = rarely;
  }

  async begin(): Promise<void> {
    const { root } = this.#plan;
    const header = carHeader(root.cid);
    if (!(await this.#target.passesOver(header.length, (kept) => isSame(kept, header)))) {
      await this.#target.write(header);
    }
    await this.section({ kind: 'node', ...root }, new AbortController().signal);
  }

  async section(section: WrittenSection, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#ahead.length === 0 && (await this.#isThere(section))) return;
    const bytes = section.kind === 'blob' ? this.#bytesOf(section.occurrence, signal) : Promise.resolve(section.bytes);
    // `#writeNext` awaits these bytes and throws their error; until then a rejection must not count as unhandled.
    bytes.catch(() => undefined);
    this.#ahead.push({ section, bytes });
    if (this.#ahead.length >= AHEAD) await this.#writeNext();
  }

  async flush(): Promise<void> {
    while (this.#ahead.length > 0) await this.#writeNext();
  }

  /** Hashes a section of an earlier run again: a power failure may have lost its bytes and kept its length. */
  async #isThere(section: WrittenSection): Promise<boolean> {
    const sizeBytes = section.kind === 'blob' ? section.sizeBytes : section.bytes.length;
    const head = sectionHead(section.cid, sizeBytes);
    const isThere = await this.#target.passesOver(head.length + sizeBytes, (kept) => {
      if (!isSame(kept.subarray(0, head.length), head)) return false;
      const bytes = kept.subarray(head.length);
      if (section.kind !== 'blob') return isSame(bytes, section.bytes);
      return verifyBlob({ ...nameOf(section.occurrence), bytes }, this.#modules.hasher) !== null;
    });
    if (isThere) this.#wrote(section);
    return isThere;
  }

  async #writeNext(): Promise<void> {
    const next = this.#ahead.shift();
    if (next === undefined) return;
    const bytes = await next.bytes;
    await this.#target.write(sectionHead(next.section.cid, bytes.length), bytes);
    this.#wrote(next.section);
  }

  #wrote({ kind }: WrittenSection): void {
    if (kind === 'blob') this.#blobs += 1;
    const { sizeBytes: doneBytes } = this.#target;
    this.#rarely.tell({
      event: 'progress',
      file: this.#path,
      doneBytes,
      sizeBytes: this.#plan.sizeBytes,
      blobs: this.#blobs,
    });
  }

  async #bytesOf(occurrence: BundledOccurrence, signal: AbortSignal): Promise<Uint8Array> {
    const given = await this.#modules.reader.open(nameOf(occurrence), { signal, ...ROOM_IS_MADE });
    if (given.kind !== 'memory' && given.kind !== 'file') throw notGiven(occurrence, given.kind);
    return await bytesIn(given);
  }
}

async function bytesIn(given: GivenBlob): Promise<Uint8Array> {
  if (given.kind === 'memory') return given.blob.bytes;
  try {
    const bytes = new Uint8Array(given.file.sizeBytes);
    await given.file.read(bytes, 0);
    return bytes;
  } finally {
    given.file.close();
  }
}

/** Limits the reports of each kind of progress to a readable rate. */
class Rarely {
  readonly #clock: Clock;
  readonly #report: (event: ExportEvent) => void;
  readonly #toldMs = new Map<ExportEvent['event'], number>();

  constructor(clock: Clock, report: (event: ExportEvent) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  tell(event: ExportEvent): void {
    const nowMs = this.#clock.steadyMs();
    if (nowMs - (this.#toldMs.get(event.event) ?? Number.NEGATIVE_INFINITY) < PROGRESS_MS) return;
    this.#toldMs.set(event.event, nowMs);
    this.#report(event);
  }
}

async function rangeOf(
  fromHeight: number | null,
  toHeight: number | null,
  finalHeight: number | null,
  { catalog, folder, chain, catalogRebuild }: ExportModules,
): Promise<BundleRange> {
  assertUpright(fromHeight, toHeight);
  const genesis = await folder.boundChain();
  const { startHeight, lowestHeight } = catalog.chain.state;
  if (!catalogRebuild.isDone || chain.lacksHistory) throw notFinal('The catalog is being rebuilt.');
  if (genesis === null || startHeight === null) throw notFinal('No block has been walked yet.');
  if (finalHeight === null) throw notFinal('No block is known to be final.');
  const lowest = lowestHeight ?? startHeight;
  const range = { from: fromHeight ?? lowest, to: toHeight ?? finalHeight };
  if (range.from < lowest) throw notFinal(`The walk began at height ${lowest}; blocks below were not examined.`);
  if (range.to > finalHeight) throw notFinal(`The highest final block has height ${finalHeight}.`);
  assertUpright(range.from, range.to);
  const blockHash = catalog.chain.blockAt(range.to)?.hash;
  if (blockHash === undefined) throw notFinal(`Block ${range.to} is being walked again.`);
  return { ...range, chain: genesis, blockHash };
}

async function textOf(
  occurrence: BundledOccurrence,
  sizeBytes: number,
  { proofs }: ExportModules,
  signal: AbortSignal,
): Promise<string> {
  const found = await proofs.recordOf(occurrence, sizeBytes, signal);
  if (typeof found !== 'string') return encodeOccurrenceRecord(found);
  const { versionHash, height } = occurrence;
  throw new BundleError('bundle/not-given', `The record of ${versionHash} at height ${height} is not here: ${found}`, {
    details: { versionHash, height },
    retryable: true,
    hint: 'Records are written soon after their block is final: try again, or export up to a lower height. `holdfast check` names records that have left a backend.',
  });
}

function nameOf({ hashType, versionHash }: BundledOccurrence) {
  return { hashType, versionHash };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function notGiven({ hashType, versionHash, height }: BundledOccurrence, kind: string): BundleError {
  const message = `${hashType} ${versionHash} (height ${height}) is not given by the archive: ${kind}.`;
  return new BundleError('bundle/not-given', message, {
    details: { hashType, versionHash, height, kind },
    retryable: true,
    hint: 'Type `holdfast check --repair`, then the same command again. What was written is kept, and compared then.',
  });
}

function notFinal(why: string): BundleError {
  return new BundleError('bundle/not-final', why, {
    retryable: true,
    hint: 'A bundle holds final blocks only: name heights that are walked and final, or wait (`holdfast status`).',
  });
}
