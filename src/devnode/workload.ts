import type { HashType } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { seededInteger } from './chain/seeded-bytes.ts';

/** One blob that a workload submits. Its bytes are SHAKE256(label). */
export interface WorkItem {
  readonly label: string;
  readonly sizeBytes: number;
  readonly hashType: HashType;
}

/** Blobs that arrive before the block of a height. A pure function of its arguments. */
export type Workload = (seed: string, height: number) => readonly WorkItem[];

const SMALL_BLOB_BITS = 16;
const MAX_SMALL_BLOBS = 4;
/** Number of blocks from one full blob to the next. */
const FULL_BLOB_BLOCKS = 3;

/** One to four small blobs (1 byte to 64 KiB, log-uniform) before each block, and a full blob before every third. */
export const mixedWorkload: Workload = (seed, height) => {
  const label = `${seed}/workload ${height}`;
  const hashTypeOf = (name: string): HashType => (seededInteger(`${name}/type`, 2) === 0 ? 'keccak256' : 'blake2s256');
  const items: WorkItem[] = [];
  const small = 1 + seededInteger(`${label}/count`, MAX_SMALL_BLOBS);
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
