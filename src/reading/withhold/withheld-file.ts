import { readFile } from 'node:fs/promises';
import { messageOf } from '../../core/blob/errors.ts';
import { type ContentName, HASH_TYPES } from '../../core/blob/ids.ts';
import { namesIn } from '../../core/blob/name-list.ts';
import { unreadable } from './withheld-records.ts';

/** Author of the take-downs in the configured list. */
export const FILE = 'file';

/**
 * A file of names that the operator configured, one a line, as `namesIn` reads them. A name of 64 characters means either hash
 * type. Throws `StorageError`.
 */
export async function namesListedIn(file: string): Promise<ContentName[]> {
  try {
    return namesIn(await readFile(file, 'utf8')).flatMap(({ versionHash, hashType }) =>
      (hashType === null ? HASH_TYPES : [hashType]).map((type) => ({ hashType: type, versionHash })),
    );
  } catch (cause) {
    throw unreadable(file, messageOf(cause));
  }
}
