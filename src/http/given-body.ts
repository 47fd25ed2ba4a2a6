import type { ContentName, CustomName } from '../core/blob/ids.ts';
import type { GivenBlob, GivenCustom, ProvenFile } from '../view/archive-view.ts';
import { type Answer, bodyOf } from './answer.ts';
import { type BodySpan, fileBody } from './file-body.ts';
import { hexBody } from './hex-body.ts';

/** The bytes that the archive gave: in memory, or in a file that is read while it is sent. Both are proven. */
export type Given = GivenBlob | GivenCustom;

export function nameOf(given: Given): ContentName | CustomName {
  return given.kind === 'file' ? given.file : given.blob;
}

export function sizeOf(given: Given): number {
  return given.kind === 'file' ? given.file.sizeBytes : given.blob.bytes.length;
}

/** Called when the body is not sent after all. */
export function dropGiven(given: Given): void {
  if (given.kind === 'file') given.file.close();
}

/** Parts of memory are views of it. What is lent is in memory anyway, and its text is made as it is sent. */
export function givenBody(given: Given, span: BodySpan): NonNullable<Answer['body']> {
  if (given.kind === 'file') return fileBody(given.file, span);
  const bytes = given.blob.bytes.subarray(span.first, span.first + span.lengthBytes);
  if (span.asHex) return hexBody([{ hexOf: bytes, isLent: given.isLent }]);
  return bodyOf(bytes, given.isLent ? 0 : bytes.length);
}

/** All of it, when `makeRoom` has made room for it. */
export async function wholeOf(file: ProvenFile, makeRoom: () => Promise<void>): Promise<Uint8Array> {
  try {
    await makeRoom();
    const bytes = Buffer.allocUnsafeSlow(file.sizeBytes);
    await file.read(bytes, 0);
    return bytes;
  } finally {
    file.close();
  }
}
