import type { ContentName, CustomName } from '../core/blob/ids.ts';
import type { GivenBlob, GivenCustom } from '../view/archive-view.ts';
import { type Answer, bodyOf } from './answer.ts';
import { type BodySpan, fileBody } from './file-body.ts';
import { hexBody } from './hex-body.ts';
import { SMALL_PART_BYTES } from './pace.ts';

/** What the archive gave: in memory, or in a file that is read while it is sent. Both are proven. */
export type Given = GivenBlob | GivenCustom;

export function nameOf(given: Given): ContentName | CustomName {
  return given.kind === 'file' ? given.file : given.blob;
}

export function sizeOf(given: Given): number {
  return given.kind === 'file' ? given.file.sizeBytes : given.blob.bytes.length;
}

/** It is not sent after all. */
export function dropGiven(given: Given): void {
  if (given.kind === 'file') given.file.close();
}

/** Parts of memory are views of it. What is lent is in memory anyway, and its text is made as it is sent. */
export function givenBody(given: Given, span: BodySpan): NonNullable<Answer['body']> {
  if (given.kind === 'file') return fileBody(given.file, span);
  const bytes = given.blob.bytes.subarray(span.first, span.first + span.lengthBytes);
  if (span.asHex) return hexBody([{ hexOf: bytes }], given.isLent ? SMALL_PART_BYTES : bytes.length);
  return bodyOf(bytes, given.isLent ? 0 : bytes.length);
}

/** All of it, in memory for which room was made. */
export async function wholeOf(given: GivenBlob): Promise<Uint8Array> {
  if (given.kind === 'memory') return given.blob.bytes;
  try {
    const bytes = Buffer.allocUnsafeSlow(given.file.sizeBytes);
    await given.file.read(bytes, 0);
    return bytes;
  } finally {
    given.file.close();
  }
}
