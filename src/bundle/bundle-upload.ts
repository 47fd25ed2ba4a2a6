import { createHash } from 'node:crypto';
import type { S3Bucket } from '../storage/s3/s3-bucket.ts';
import type { S3Upload } from '../storage/s3/s3-upload.ts';
import { bucketChunks } from './bucket-chunks.ts';
import type { BundleTarget } from './bundle-target.ts';
import { BundleError, exists } from './errors.ts';

export const CONTENT_TYPE = 'application/vnd.ipld.car';
/** Fewest bytes of a part: S3 takes no less than 5 MiB. */
const PART_BYTES = 8_388_608;
/** A part is held in memory until the server has it. */
const MAX_PART_BYTES = 67_108_864;
/** S3 takes no more of one object. */
const MAX_PARTS = 10_000;
/** Parts under way at a time, while one more is filled. */
const AT_ONCE = 2;

/** Bytes of every part but the last: some servers want them equal. @throws BundleError `bundle/too-many` */
export function partBytesFor(sizeBytes: number): number {
  const partBytes = Math.ceil(sizeBytes / MAX_PARTS / PART_BYTES) * PART_BYTES;
  if (partBytes <= MAX_PART_BYTES) return partBytes;
  throw new BundleError('bundle/too-many', `A bundle of ${sizeBytes} bytes is too large for one object of a bucket.`, {
    details: { sizeBytes, maxBytes: MAX_PARTS * MAX_PART_BYTES },
    retryable: false,
    hint: 'Export the range in several bundles: give --from-height and --to-height.',
  });
}

/**
 * A bundle that becomes an object of a bucket. Every part has the same place in each run. A part of an earlier run is kept
 * where its MD5 is that of the bytes which belong there. The object is read back before it counts.
 */
export class BundleUpload implements BundleTarget {
  readonly #bucket: S3Bucket;
  readonly #name: string;
  readonly #upload: S3Upload;
  readonly #totalBytes: number;
  readonly #partBytes: number;
  readonly #signal: AbortSignal;
  readonly #whole = createHash('sha256');
  readonly #etags: string[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #spare: Uint8Array[] = [];
  #failure: { readonly error: unknown } | null = null;
  #part: Uint8Array;
  #filled = 0;
  #parts = 0;
  sizeBytes = 0;
  keptBytes = 0;

  private constructor(bucket: S3Bucket, name: string, upload: S3Upload, totalBytes: number, signal: AbortSignal) {
    this.#bucket = bucket;
    this.#name = name;
    this.#upload = upload;
    this.#totalBytes = totalBytes;
    this.#partBytes = partBytesFor(totalBytes);
    this.#part = new Uint8Array(this.#partBytes);
    this.#signal = signal;
  }

  static async open(bucket: S3Bucket, name: string, totalBytes: number, signal: AbortSignal): Promise<BundleUpload> {
    const upload = await bucket.upload(name, CONTENT_TYPE, signal);
    return new BundleUpload(bucket, name, upload, totalBytes, signal);
  }

  /** A part of an earlier run is compared by its MD5 once its bytes are made again. */
  async passesOver(): Promise<boolean> {
    return false;
  }

  async write(...chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      this.#whole.update(chunk);
      for (let at = 0; at < chunk.length; ) {
        const piece = chunk.subarray(at, at + this.#partBytes - this.#filled);
        this.#part.set(piece, this.#filled);
        this.#filled += piece.length;
        at += piece.length;
        if (this.#filled === this.#partBytes) await this.#endPart();
      }
    }
  }

  async finish(): Promise<void> {
    if (this.#filled > 0) await this.#endPart();
    await Promise.all(this.#underWay);
    this.#throwFailure();
    const outcome = await this.#complete();
    const digest = this.#whole.digest();
    if (await holdsBytes(this.#bucket, this.#name, this.#totalBytes, digest, this.#signal)) return;
    if (outcome === 'unknown') throw exists(this.#path);
    await this.#bucket.delete(this.#name, this.#signal);
    throw this.#wrongBytes();
  }

  /** Parts under way are let finish: the next run finds them. */
  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #endPart(): Promise<void> {
    while (this.#underWay.size >= AT_ONCE) await Promise.race(this.#underWay);
    this.#throwFailure();
    const memory = this.#part;
    const bytes = memory.subarray(0, this.#filled);
    this.#parts += 1;
    const sending = this.#send(this.#parts, bytes)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#underWay.delete(sending);
        this.#spare.push(memory);
      });
    this.#underWay.add(sending);
    // The upload judges by the first part whether it can be continued.
    if (this.#parts === 1) await sending;
    this.#part = this.#spare.pop() ?? new Uint8Array(this.#partBytes);
    this.#filled = 0;
  }

  async #send(number: number, bytes: Uint8Array): Promise<void> {
    const md5 = createHash('md5').update(bytes).digest();
    const there = this.#upload.uploaded.get(number);
    const isThere = there?.sizeBytes === bytes.length && there.etag.replaceAll('"', '') === md5.toString('hex');
    if (there !== undefined && isThere) {
      this.#etags[number - 1] = there.etag;
      this.keptBytes += bytes.length;
    } else {
      this.#etags[number - 1] = await this.#upload.put(number, bytes, md5.toString('base64'), this.#signal);
    }
    this.sizeBytes += bytes.length;
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** `unknown`: an object is there, and no answer says whether it is this one. */
  async #complete(): Promise<'written' | 'unknown'> {
    // Some servers pass a condition over in silence: what came during the upload would be written over, or deleted as wrong.
    if ((await this.#bucket.size(this.#name, this.#signal)) !== null) return 'unknown';
    try {
      const outcome = await this.#upload.complete(this.#etags, 'absent', this.#signal);
      if (outcome === 'written') return 'written';
      if (outcome === 'condition failed') return 'unknown';
      if ((await this.#bucket.size(this.#name, this.#signal)) !== null) return 'unknown';
      await this.#upload.complete(this.#etags, null, this.#signal);
      return 'written';
    } catch (error) {
      this.#signal.throwIfAborted();
      // The answer may have been lost on its way.
      const there = await this.#bucket.size(this.#name, this.#signal).catch(() => null);
      if (there === null) throw error;
      return 'unknown';
    }
  }

  get #path(): string {
    return `${this.#bucket.where}/${this.#name}`;
  }

  #wrongBytes(): BundleError {
    const path = this.#path;
    return new BundleError('bundle/wrong-bytes', `${path} gave other bytes than were written, and was deleted.`, {
      details: { path },
      retryable: true,
      hint: 'Look at that server, its disks and any cache in front of it, then type the command again.',
    });
  }
}

/** Reads an object back and compares it by its SHA-256. */
export async function holdsBytes(
  bucket: Pick<S3Bucket, 'range' | 'size'>,
  name: string,
  sizeBytes: number,
  digest: Uint8Array,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await bucket.size(name, signal)) !== sizeBytes) return false;
  const found = createHash('sha256');
  for await (const chunk of bucketChunks(bucket, name, sizeBytes, signal)) found.update(chunk);
  return found.digest().equals(digest);
}
