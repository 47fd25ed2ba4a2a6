import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { WindowState } from '../../src/core/blob/window-state.ts';
import type { WindowBlob, WindowBlock, WindowPicture, WindowView } from '../../src/view/window-view.ts';

/** Seconds between two blocks of the real chain. */
const BLOCK_SECONDS = 150;
const hex = (number: number, of: string) => number.toString(16).padStart(64, of);

export function windowBlob(number: number, state: WindowState = 'stored'): WindowBlob {
  return {
    versionHash: parseVersionHash(hex(number, 'a')),
    hashType: 'keccak256',
    txid: parseTxId(hex(number, 'c')),
    sizeBytes: 1_000 + number,
    state,
    copies: state === 'stored' ? 1 : 0,
  };
}

export function windowBlock(height: number, blobs: readonly WindowBlob[] = [], isFinal = false): WindowBlock {
  const medianTimeSeconds = 1_767_000_000 + height * BLOCK_SECONDS;
  const hash = parseBlockHash(hex(height, 'b'));
  return { height, hash, timeSeconds: medianTimeSeconds, medianTimeSeconds, isFinal, blobs, hasMore: false };
}

/** A window that a test draws. What it was asked is counted. */
export class FakeWindowView implements WindowView {
  asked = 0;
  /** Thrown instead of an answer. */
  fault: Error | null = null;
  #picture: WindowPicture = pictureOf([]);

  show(blocks: readonly WindowBlock[], facts: Partial<WindowPicture> = {}): void {
    this.#picture = { ...pictureOf(blocks), ...facts };
  }

  picture(): WindowPicture {
    this.asked += 1;
    if (this.fault !== null) throw this.fault;
    return this.#picture;
  }
}

export function pictureOf(blocks: readonly WindowBlock[]): WindowPicture {
  const tip = blocks.at(-1) ?? null;
  return {
    retentionSeconds: 21_600,
    tip: tip && { height: tip.height, medianTimeSeconds: tip.medianTimeSeconds },
    blocks,
    blocksNotDrawn: 0,
    waiting: { blobs: [], hasMore: false },
    atRisk: 0,
    backends: [{ backend: 'local', counts: true, good: blocks.length, wanted: 0, damaged: 0 }],
  };
}
