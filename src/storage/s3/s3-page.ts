import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { NotS3Answer } from './s3-error.ts';

export interface ListedObject {
  /** Key without the prefix that every object of Holdfast has. */
  readonly key: string;
  readonly sizeBytes: number;
}

export interface Page {
  readonly objects: readonly ListedObject[];
  /** Token of the next page; null on the last one. */
  readonly more: string | null;
}

/**
 * @param after the token of this page; undefined for the first one
 * @throws NotS3Answer for what is no listing, and for a page that names itself as the next one
 */
export function pageOf(answer: ListObjectsV2CommandOutput, prefix: string, after: string | undefined): Page {
  // A web page parses as a listing of nothing. Nothing is then what every blob would be said to be.
  if (answer.IsTruncated === undefined && answer.KeyCount === undefined) {
    throw new NotS3Answer('a listing without IsTruncated and KeyCount');
  }
  if (answer.IsTruncated === true && answer.NextContinuationToken === undefined) {
    throw new NotS3Answer('a listing that goes on without saying where');
  }
  // A cache that leaves the query out gives the same page for ever.
  if (answer.IsTruncated === true && answer.NextContinuationToken === after) {
    throw new NotS3Answer('a listing that goes on with the same page');
  }
  const objects: ListedObject[] = [];
  for (const { Key, Size } of answer.Contents ?? []) {
    if (Key === undefined || !isSize(Size)) throw new NotS3Answer('a listed object without key or size');
    objects.push({ key: Key.slice(prefix.length), sizeBytes: Size });
  }
  return { objects, more: answer.IsTruncated === true ? (answer.NextContinuationToken ?? null) : null };
}

/** The SDK reads a size that is no number as NaN. */
export function isSize(size: number | undefined): size is number {
  return Number.isSafeInteger(size) && Number(size) >= 0;
}
