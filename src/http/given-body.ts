import type { ContentName, CustomName } from '../core/blob/ids.ts';
import type { Asking, GivenBlob, GivenCustom } from '../view/archive-view.ts';
import { type Answer, bodyOf } from './answer.ts';
import { type FileSpan, fileBody } from './file-body.ts';
import { hexBody } from './hex-body.ts';
import { heldInParts, LARGE_PART_BYTES, SMALL_PART_BYTES } from './part-size.ts';

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

/** Parts of memory are views of it. */
export function givenBody(
  given: Given,
  span: Omit<FileSpan, 'partBytes'>,
  { holdForSpeed }: Pick<Asking, 'holdForSpeed'>,
): NonNullable<Answer['body']> {
  if (given.kind === 'file') {
    const partBytes = holdForSpeed(heldInParts(LARGE_PART_BYTES)) ? LARGE_PART_BYTES : SMALL_PART_BYTES;
    return fileBody(given.file, { ...span, partBytes });
  }
  const bytes = given.blob.bytes.subarray(span.first, span.first + span.lengthBytes);
  return span.asHex ? hexBody([{ hexOf: bytes }]) : bodyOf(bytes);
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
