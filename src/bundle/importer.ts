import { candidatesOf } from '../backfill/source/candidates.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { AFTER_ALL_SECONDS, type SpooledContent } from '../catalog/content-table.ts';
import { isForLater } from '../core/archive-errors.ts';
import {
  type BlockHash,
  type ContentName,
  HASH_TYPES,
  type NamedHash,
  parseNamedHash,
  sameContent,
  type TxId,
} from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import type { Clock } from '../core/time/clock.ts';
import type { Spooler } from '../ingest/spooler.ts';
import { forgetBytes, type Namer, type VerifiedBlob } from '../verify/verified-blob.ts';
import type { ImportEvent, ImportReport, NamedReason } from './import-report.ts';
import type { Manifest } from './manifest.ts';
import { type Part, shownPath } from './part.ts';
import { looksLikeRecord, ProvenNames } from './proven-names.ts';
import type { StreamJudge } from './stream-parts.ts';

export interface ImportModules {
  readonly catalog: Catalog;
  readonly namer: Namer;
  readonly spooler: Pick<Spooler, 'spool'>;
  /** The chain that the data folder is bound to; null: to none yet. */
  readonly boundChain: () => Promise<BlockHash | null>;
  readonly clock: Clock;
}

/** Evidence that a blob of this name is wanted. */
type Proof =
  | { readonly by: 'chain' | 'catalog' | 'lost' | 'its name'; readonly txid: TxId | null }
  | { readonly by: 'record'; readonly txid: TxId };

interface Found {
  readonly blob: VerifiedBlob;
  readonly proof: Proof;
}

const MAX_LISTED = 1_000;
const PROGRESS_MS = 500;

/** Judges what a source gives by its hash, and hands what is wanted to the archive's own way to durability. */
export class Importer implements StreamJudge {
  readonly #modules: ImportModules;
  readonly #report: (event: ImportEvent) => void;
  readonly #proven: ProvenNames;
  readonly #notPlaced: ContentName[] = [];
  readonly #unusable: NamedReason[] = [];
  readonly #faults: NamedReason[] = [];
  readonly #count = {
    ...{ taken: 0, takenBytes: 0, byRecord: 0, notPlacedCount: 0, found: 0, alreadyHeld: 0, withheld: 0 },
    ...{ passedOver: 0, unusableCount: 0, faultCount: 0 },
  };
  /** Name of the current part of an import, for progress reports. */
  #source = '';
  #toldMs = Number.NEGATIVE_INFINITY;
  #chain: BlockHash | null = null;
  /** Sequences of blobs that were held already, and were on too few backends when they were last looked at. */
  readonly #heldNotStored = new Set<number>();

  constructor(modules: ImportModules, report: (event: ImportEvent) => void) {
    this.#report = report;
    this.#modules = modules;
    this.#proven = new ProvenNames(modules.catalog.chain);
  }

  /** Called first. */
  async begin(): Promise<void> {
    this.#chain = await this.#modules.boundChain();
  }

  refusal({ chain }: Manifest): string | null {
    if (this.#chain === null || this.#chain === chain) return null;
    return `It is of the chain that begins with ${chain}; this archive is of the one that begins with ${this.#chain}.`;
  }

  get outcome(): Omit<ImportReport, 'notStored'> {
    const lists = { notPlaced: this.#notPlaced, unusable: this.#unusable, faults: this.#faults };
    return { ...this.#count, ...lists, records: this.#proven.count };
  }

  /** Counts blobs of the import that came here, before it or during it, and are still on too few backends. */
  notStored(sinceMs: number, untilMs: number): number {
    const { missing } = this.#modules.catalog;
    for (const sequence of this.#heldNotStored)
      if (!missing.isNotStored(sequence, sinceMs, untilMs)) this.#heldNotStored.delete(sequence);
    return missing.arrivedNotStored(sinceMs, untilMs) + this.#heldNotStored.size;
  }

  beginSource(source: string): void {
    this.#source = shownPath(source);
    this.#tell(true);
  }

  /** Remembers what the part shows when it is a record. The blobs of a source may come before their records. */
  lookForRecord(part: Part): void {
    if (part.kind === 'bytes' && looksLikeRecord(part.bytes))
      this.#proven.remember(new TextDecoder().decode(part.bytes));
  }

  /** Reports whether the chain, the catalog or a record names this blob. */
  async isKnown(bytes: Uint8Array): Promise<boolean> {
    if (bytes.length > MAX_BLOB_BYTES) return false;
    const found = await this.#find([bytes], null);
    if (found === null) return false;
    forgetBytes(found.blob);
    return true;
  }

  /** Rejects when the signal aborts, and where the catalog fails; what was taken by then is kept. */
  async take(part: Part, signal: AbortSignal): Promise<void> {
    switch (part.kind) {
      case 'bytes':
        await this.#judge(part.path, part.bytes, signal);
        break;
      case 'named':
        await this.#judgeNamed(part.path, part.name, part.bytes, signal);
        break;
      case 'record':
        this.#judgeRecord(part.path, part.text);
        break;
      case 'manifest':
        break;
      case 'unusable':
        this.#refuse(part.path, part.why);
        break;
      case 'fault':
        this.#fault(part.path, part.why);
        break;
      default:
        part satisfies never;
    }
    this.#tell(false);
  }

  async #judge(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    // A candidate may be gone once it was hashed elsewhere: the text of a record is read first.
    const text = looksLikeRecord(bytes) ? new TextDecoder().decode(bytes) : null;
    const claim = claimIn(path);
    const found = await this.#find(candidatesOf(bytes), claim);
    if (found !== null) await this.#keep(path, found, signal);
    else if (isOfAnArchive(path)) this.#count.passedOver += 1;
    else {
      if (text !== null) this.#judgeRecord(path, text);
      else this.#refuse(path, WHY[claim === null ? 'unknown' : 'wrongBytes']);
    }
  }

  /** The CID names the expected hash, so that the bytes are hashed once. */
  async #judgeNamed(path: string, name: ContentName, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const blob = await this.#modules.namer.name(name.hashType, bytes);
    const proof = blob === null ? null : this.#proofOf(blob, name);
    if (blob === null || proof === null || !sameContent(blob, name)) this.#refuse(path, WHY.wrongBytes);
    else await this.#keep(path, { blob, proof }, signal);
  }

  #judgeRecord(path: string, text: string): void {
    const why = this.#proven.take(text);
    if (why !== null) this.#refuse(path, why);
  }

  /** Returns null when neither the bytes nor their decoded hex text has a known name. */
  async #find(candidates: readonly Uint8Array[], claim: NamedHash | null): Promise<Found | null> {
    for (const candidate of candidates) {
      if (candidate.length < MIN_BLOB_BYTES || candidate.length > MAX_BLOB_BYTES) continue;
      let bytes = candidate;
      for (const hashType of claim?.hashType === undefined || claim.hashType === null ? HASH_TYPES : [claim.hashType]) {
        const blob = await this.#modules.namer.name(hashType, bytes);
        if (blob === null) break;
        const proof = this.#proofOf(blob, claim);
        if (proof !== null) return { blob, proof };
        bytes = blob.bytes;
      }
    }
    return null;
  }

  #proofOf(blob: VerifiedBlob, claim: NamedHash | null): Proof | null {
    const { catalog } = this.#modules;
    if (catalog.losses.find(blob) !== null) return { by: 'lost', txid: null };
    if (catalog.records.isOnChain(blob)) return { by: 'chain', txid: null };
    const record = this.#proven.find(blob, blob.bytes.length);
    const wanted = catalog.findQueued(blob.versionHash);
    const isWanted = wanted !== null && (wanted.hashType ?? blob.hashType) === blob.hashType;
    const isKnown = catalog.find(blob.versionHash).some(({ hashType }) => hashType === blob.hashType);
    if (isWanted || isKnown || catalog.withheld.has(blob)) return { by: 'catalog', txid: record?.txid ?? null };
    if (record !== null) return { by: 'record', txid: record.txid };
    return claim?.versionHash === blob.versionHash ? { by: 'its name', txid: null } : null;
  }

  async #keep(path: string, { blob, proof }: Found, signal: AbortSignal): Promise<void> {
    const { catalog, spooler } = this.#modules;
    const { hashType, versionHash } = blob;
    const sizeBytes = blob.bytes.length;
    try {
      if (catalog.withheld.has(blob)) {
        this.#count.withheld += 1;
        return;
      }
      const entry = catalog.find(versionHash).find((one) => one.hashType === hashType);
      if (entry !== undefined && entry.state !== 'seen') {
        this.#count.alreadyHeld += 1;
        if (entry.state === 'spooled') this.#heldNotStored.add(entry.sequence);
        return;
      }
      await spooler.spool(blob, { ...this.#rowOf(blob, proof), sizeBytes }, signal);
    } catch (error) {
      if (!isForLater(error)) throw error;
      this.#fault(path, error.message);
      return;
    } finally {
      forgetBytes(blob);
    }
    this.#count.taken += 1;
    this.#count.takenBytes += sizeBytes;
    if (proof.by === 'lost') this.#count.found += 1;
    if (proof.by === 'record') this.#count.byRecord += 1;
    if (proof.by !== 'its name') return;
    this.#count.notPlacedCount += 1;
    if (this.#notPlaced.length < MAX_LISTED) this.#notPlaced.push({ hashType, versionHash });
  }

  #rowOf(
    { versionHash }: ContentName,
    { txid }: Proof,
  ): Omit<SpooledContent, 'hashType' | 'versionHash' | 'sizeBytes'> {
    const wanted = this.#modules.catalog.findQueued(versionHash);
    if (wanted === null) {
      const firstSeenMs = this.#modules.clock.wallMs();
      return { txid, medianTimeSeconds: null, firstSeenMs, dueSeconds: AFTER_ALL_SECONDS };
    }
    const { medianTimeSeconds, firstSeenMs, hashType } = wanted;
    return { txid: wanted.txid ?? txid, medianTimeSeconds, firstSeenMs, isUnmined: hashType === null };
  }

  #refuse(path: string, why: string): void {
    this.#count.unusableCount += 1;
    this.#list('unusable', this.#unusable, { path: shownPath(path), why });
  }

  #fault(path: string, why: string): void {
    this.#count.faultCount += 1;
    this.#list('fault', this.#faults, { path: shownPath(path), why });
  }

  #list(event: 'unusable' | 'fault', list: NamedReason[], reason: NamedReason): void {
    if (list.length >= MAX_LISTED) return;
    list.push(reason);
    this.#report({ event, ...reason });
  }

  #tell(isFirst: boolean): void {
    const nowMs = this.#modules.clock.steadyMs();
    if (!isFirst && nowMs - this.#toldMs < PROGRESS_MS) return;
    this.#toldMs = nowMs;
    const { taken, takenBytes, alreadyHeld, unusableCount } = this.#count;
    this.#report({ event: 'progress', source: this.#source, taken, takenBytes, alreadyHeld, unusableCount });
  }
}

const WHY = {
  wrongBytes: 'Its bytes are not the blob that its name says, and no other blob that is known here.',
  unknown:
    'Nothing names it yet: no block that was walked, no list, no loss and no record. Name the file by its version hash, or import its occurrence record with it.',
} as const;

/** A version hash as archives, buckets and `holdfast get` name files by it; an extension may follow. */
const CLAIM = /^(?:0x)?(?:01)?[0-9a-f]{64}$/i;

function claimIn(path: string): NamedHash | null {
  // A path in a tarball stands behind the tarball's own name, which may be a hash and have an extension.
  const words =
    path
      .split(/[\\/]|: /)
      .at(-1)
      ?.split(/[\s.]/) ?? [];
  const bare = words.find((word) => CLAIM.test(word));
  return bare === undefined ? null : parseNamedHash(bare);
}

/** Reports whether a path is another file of a data folder or a bucket, beside blobs and records. */
function isOfAnArchive(path: string): boolean {
  return /(?:^|[\s/\\])(?:holdfast\.json|audit[/\\].+\.json|[^/\\]+\.withdrawn\.json)$/.test(path);
}
