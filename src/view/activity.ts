import { EventEmitter } from 'node:events';
import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';
import type { ChainTip } from '../node/blob-node.ts';

/** Events of the archive for display. No other code depends on a listener. */
export interface ActivityEvents {
  tip: [tip: ChainTip];
  listed: [count: number];
  /** Names that the list has and the last one had not. */
  sighted: [versionHashes: readonly VersionHash[]];
  /** A backend is proven to hold these. */
  proven: [backend: string, blobs: readonly ContentName[]];
  spooled: [blob: { versionHash: VersionHash; hashType: HashType; sizeBytes: number }];
  stored: [count: number];
  /** The walk's cursor moved to this height. */
  walked: [walk: { height: number }];
  /** Up to this height the branch is final now. */
  final: [height: number];
  /** No source has the bytes of this blob. */
  lost: [blob: { versionHash: VersionHash; hashType: HashType }];
  reorganised: [change: { blocks: number; lastCommonHeight: number; withdrawn: number }];
  failed: [failure: { versionHash: VersionHash; code: string; message: string }];
}

export class Activity extends EventEmitter<ActivityEvents> {}
