import type { HashType } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { seededInteger } from './chain/seeded-bytes.ts';

/** One blob that the workload submits: its bytes are SHAKE256(label). */
export interface WorkItem {
  readonly label: string;
  readonly sizeBytes: number;
  readonly hashType: HashType;
}

/** What arrives before the block of this height. Must depend on its arguments alone. */
export type Workload = (seed: string, height: number) => readonly WorkItem[];

const SMALL_BLOB_BITS = 16;
const MOST_SMALL_BLOBS = 4;
/** A full blob comes with every so many blocks. */
const FULL_BLOB_BLOCKS = 3;

/** Some small blobs (1 byte to 64 KiB, every magnitude alike) with each block, a full one with every third. */
export const mixedWorkload: Workload = (seed, height) => {
  const label = `${seed}/workload ${height}`;
  const hashTypeOf = (name: string): HashType => (seededInteger(`${name}/type`, 2) === 0 ? 'keccak256' : 'blake2s256');
  const items: WorkItem[] = [];
  const small = 1 + seededInteger(`${label}/count`, MOST_SMALL_BLOBS);
  for (let index = 0; index < small; index++) {
    const name = `${label}/small ${index}`;
    const ceiling = 2 ** (1 + seededInteger(`${name}/magnitude`, SMALL_BLOB_BITS));
    items.push({ label: name, sizeBytes: 1 + seededInteger(`${name}/size`, ceiling), hashType: hashTypeOf(name) });
  }
  if (height % FULL_BLOB_BLOCKS === 0) {
    const name = `${label}/full`;
    items.push({ label: name, sizeBytes: MAX_BLOB_BYTES, hashType: hashTypeOf(name) });
  }
  return items;
};
