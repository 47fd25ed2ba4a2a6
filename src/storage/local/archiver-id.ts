import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { StorageError, storageFault } from '../errors.ts';
import { writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

const FILE = 'archiver-id';
const ID_BYTES = 8;
const MAX_BYTES = 1_024;

/**
 * Tells this archiver's evidence from that of others on the same backends: sixteen hex digits, random, made once for a
 * data folder. It lies beside the catalog, not in it, so that a catalog that is made again goes on under the same name.
 * The caller holds the folder's lock.
 */
export async function archiverIdIn(folder: string): Promise<string> {
  const file = join(folder, FILE);
  try {
    const text = (await readRegularFile(file, MAX_BYTES)).toString('utf8').trim();
    if (/^[0-9a-f]{16}$/.test(text)) return text;
  } catch (cause) {
    if (codeOf(cause) !== 'ENOENT') throw storageFault('local', `read ${FILE}`, cause, file);
    return await makeId(folder, file);
  }
  throw new StorageError('storage/unknown-format', `${file} does not hold sixteen hex digits.`, {
    details: { file },
    retryable: false,
    hint: 'Take it from a backup, or name it as the folder below audit/ of a backend is named.',
  });
}

async function makeId(folder: string, file: string): Promise<string> {
  const made = randomBytes(ID_BYTES).toString('hex');
  try {
    await writeDurably(file, Buffer.from(`${made}\n`), folder);
  } catch (cause) {
    throw storageFault('local', `write ${FILE}`, cause, file);
  }
  return made;
}
