import { createHash } from 'node:crypto';
import type { S3Bucket } from '../storage/s3/s3-bucket.ts';
import type { BundleTarget } from './bundle-target.ts';
import { holdsBytes } from './bundle-upload.ts';
import { exists } from './errors.ts';

/** An object of the size of the bundle stands there: an interrupted run may have completed it, and proven nothing yet. */
export class BundleComparison implements BundleTarget {
  readonly #bucket: S3Bucket;
  readonly #name: string;
  readonly #signal: AbortSignal;
  readonly #whole = createHash('sha256');
  sizeBytes = 0;
  keptBytes = 0;

  constructor(bucket: S3Bucket, name: string, signal: AbortSignal) {
    this.#bucket = bucket;
    this.#name = name;
    this.#signal = signal;
  }

  /** The object is read once, behind the last byte of the bundle. */
  async passesOver(): Promise<boolean> {
    return false;
  }

  async write(...chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      this.#whole.update(chunk);
      this.sizeBytes += chunk.length;
    }
  }

  async finish(): Promise<void> {
    const isSame = await holdsBytes(this.#bucket, this.#name, this.sizeBytes, this.#whole.digest(), this.#signal);
    if (!isSame) throw exists(`${this.#bucket.where}/${this.#name}`);
    this.keptBytes = this.sizeBytes;
  }
}
