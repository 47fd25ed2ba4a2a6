import type { S3Bucket } from '../storage/s3/s3-bucket.ts';
import { BundleComparison } from './bundle-comparison.ts';
import type { BundlePlace, BundleTarget } from './bundle-target.ts';
import { BundleUpload } from './bundle-upload.ts';
import { exists } from './errors.ts';

/** An object of a bucket, for a bundle. */
export class BucketPlace implements BundlePlace {
  readonly path: string;
  readonly #bucket: S3Bucket;
  readonly #name: string;
  readonly #foundBytes: number | null;
  readonly #signal: AbortSignal;
  #upload: BundleUpload | null = null;

  private constructor(bucket: S3Bucket, name: string, foundBytes: number | null, signal: AbortSignal) {
    this.path = `${bucket.where}/${name}`;
    this.#bucket = bucket;
    this.#name = name;
    this.#foundBytes = foundBytes;
    this.#signal = signal;
  }

  /** Asks the bucket, so that a wrong address or key is told before anything is read. @throws StorageError */
  static async open(bucket: S3Bucket, name: string, signal: AbortSignal): Promise<BucketPlace> {
    return new BucketPlace(bucket, name, await bucket.size(name, signal), signal);
  }

  /** @throws BundleError `bundle/exists` where another object is there */
  async begin(sizeBytes: number): Promise<BundleTarget> {
    if (this.#foundBytes === sizeBytes) return new BundleComparison(this.#bucket, this.#name, this.#signal);
    if (this.#foundBytes !== null) throw exists(this.path);
    this.#upload = await BundleUpload.open(this.#bucket, this.#name, sizeBytes, this.#signal);
    return this.#upload;
  }

  async close(): Promise<void> {
    await this.#upload?.settle();
  }
}
