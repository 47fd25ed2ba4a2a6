import { LRUCache } from 'lru-cache';
import type { VersionHash } from '../blob/ids.ts';

/** Some gigabytes: what a system may have in memory. */
const REMEMBERED = 4_096;
/** The system's memory gives a part in a fraction of this, and hardly a disk does. */
const SLOW_MS = 5;

/**
 * Files that were read lately, so that the system has them in memory as far as can be told from outside, and reading them at
 * once keeps nobody else waiting. What turns out slow after all was read once too often: it is one no more.
 */
export class WarmFiles {
  readonly #read = new LRUCache<VersionHash, true>({ max: REMEMBERED });

  has(versionHash: VersionHash): boolean {
    return this.#read.get(versionHash) === true;
  }

  /** It is being read, in a way that keeps nobody waiting. */
  noteRead(versionHash: VersionHash): void {
    this.#read.set(versionHash, true);
  }

  /** false: a part of it took so long to read that it is not in memory. */
  noteTaken(versionHash: VersionHash, tookMs: number): boolean {
    if (tookMs < SLOW_MS) return true;
    this.#read.delete(versionHash);
    return false;
  }
}
