import { readFile } from 'node:fs/promises';
import { messageOf } from '../../core/blob/errors.ts';
import { type ContentName, HASH_TYPES, parseNamedHash } from '../../core/blob/ids.ts';
import { unreadable } from './withheld-records.ts';

/**
 * A file of names that the operator configured, one a line; what follows a blank is a remark, `#` begins a comment. A name
 * of 64 characters means either hash type. Throws `StorageError`.
 */
export async function namesListedIn(file: string): Promise<ContentName[]> {
  try {
    const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim().split(/\s/, 1)[0] ?? '');
    return lines
      .filter((word) => word !== '' && !word.startsWith('#'))
      .map(parseNamedHash)
      .flatMap(({ versionHash, hashType }) =>
        (hashType === null ? HASH_TYPES : [hashType]).map((type) => ({ hashType: type, versionHash })),
      );
  } catch (cause) {
    throw unreadable(file, messageOf(cause));
  }
}
