import type { BigIntStats } from 'node:fs';
import type { FileIdentity } from '../../verify/verified-blob.ts';

/**
 * Identity of a file that was looked at before and after its bytes were moved. A rename between changes only the ctime.
 * Written meanwhile, or not as long as it should be: an identity that no record can equal, so that the bytes are hashed.
 */
export function fileIdentity(before: BigIntStats, after: BigIntStats, length: number): FileIdentity {
  const isSteady = after.mtimeNs === before.mtimeNs && after.size === before.size && after.size === BigInt(length);
  return {
    device: after.dev,
    inode: after.ino,
    sizeBytes: isSteady ? after.size : -1n,
    mtimeNs: after.mtimeNs,
    ctimeNs: after.ctimeNs,
  };
}
