import { EventEmitter } from 'node:events';
import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';
import type { ChainTip } from '../node/blob-node.ts';

/** What happens, for whoever shows it to a person. Nothing depends on anybody listening. */
export interface ActivityEvents {
  tip: [tip: ChainTip];
  listed: [count: number];
  /** What a list named that the last one did not. */
  sighted: [versionHashes: readonly VersionHash[]];
  /** A backend is proven to hold these. */
  proven: [backend: string, blobs: readonly ContentName[]];
  spooled: [blob: { versionHash: VersionHash; hashType: HashType; sizeBytes: number }];
  stored: [count: number];
  /** The walk's cursor moved to this height. */
  walked: [walk: { height: number }];
  /** Up to this height the branch is final now. */
  final: [height: number];
  /** Nobody has the bytes of this one. */
  lost: [blob: { versionHash: VersionHash; hashType: HashType }];
  reorganised: [change: { blocks: number; lastCommonHeight: number; withdrawn: number }];
  failed: [failure: { versionHash: VersionHash; code: string; message: string }];
}

export class Activity extends EventEmitter<ActivityEvents> {}
