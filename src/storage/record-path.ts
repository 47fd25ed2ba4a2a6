import { HoldfastError } from '../core/blob/errors.ts';

declare const brand: unique symbol;
/** Path of a record below the root of a backend, such as `occurrences/keccak256/…/12-….json`. */
export type RecordPath = string & { readonly [brand]: 'RecordPath' };

export class RecordPathError extends HoldfastError<'malformed/record-path'> {}

/** A record holds a raw transaction in hex at most; a block may carry 4 MB. */
export const MAX_RECORD_BYTES = 16 * 1_048_576;

const PATH = /^(?:occurrences|audit)(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)+\.json$/;
const MAX_PATH_CHARS = 512;

/** Accepts what is safe as a file name and as an object key alike: no dots in front, no empty parts. */
export function parseRecordPath(text: string): RecordPath {
  if (!PATH.test(text) || text.length > MAX_PATH_CHARS) {
    throw new RecordPathError(
      'malformed/record-path',
      `${JSON.stringify(text.slice(0, 120))} is no path of a record.`,
      {
        retryable: false,
        hint: 'Records are named occurrences/… or audit/…, in letters, digits, dots, dashes, and end in .json.',
      },
    );
  }
  return text as RecordPath;
}

/** null instead of an error: for names that a folder or bucket holds. */
export function recordPathOrNull(text: string): RecordPath | null {
  return PATH.test(text) && text.length <= MAX_PATH_CHARS ? parseRecordPath(text) : null;
}
